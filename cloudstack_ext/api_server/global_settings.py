"""Global settings that matter to an extension, with CloudStack's defaults.

Source: recorded answers of listConfigurations and updateConfiguration for those with a component;
the defaults of the others from the documentation.
"""

from cloudstack_ext.api_server.model.catalogue import Setting

PATH_CHECK = "extension.path.state.check.interval"
_DENIED = (
    "rootdisksize, cpuOvercommitRatio, memoryOvercommitRatio, Message.ReservedCapacityFreed.Flag"
)


def global_settings() -> tuple[Setting, ...]:
    """Fresh ones, to be changed by updateConfiguration."""
    return (
        Setting(
            name="start.retry",
            value="10",
            default="10",
            kind="Number",
            description="Number of times to retry create and start commands",
            component="VirtualMachineManager",
        ),
        Setting(
            name="restart.retry.interval",
            value="600",
            default="600",
            kind="Number",
            description="The time (in seconds) between retries to restart a VM.",
            component="HighAvailabilityManager",
            group="Management Server",
            subgroup="Limits",
        ),
        Setting(
            name="job.cancel.threshold.minutes",
            value="60",
            default="60",
            kind="Number",
            description=(
                "Time (in minutes) for async-jobs to be forcely cancelled if it has been in process"
                " for long"
            ),
            component="AsyncJobManager",
            group="Management Server",
            subgroup="Jobs",
        ),
        Setting(
            name="commands.timeout",
            value="",
            default="",
            dynamic=False,
            description=(
                "This timeout overrides the wait global config. This holds a comma separated key"
                " value pairs containing timeout (in seconds) for specific commands. For example:"
                " DhcpEntryCommand=600, SavePasswordCommand=300, VmDataCommand=300"
            ),
            component="AgentManager",
        ),
        Setting(
            name="user.vm.denied.details",
            value=_DENIED,
            default=_DENIED,
            kind="CSV",
            description=(
                "Determines whether users can view certain VM settings. When set to empty, default"
                f" value used is: {_DENIED}."
            ),
            component="QueryService",
            group="Compute",
            subgroup="Virtual Machine",
        ),
        Setting(
            name="vm.userdata.max.length",
            value="32768",
            default="32768",
            kind="Number",
            description=(
                "Max length of vm userdata after base64 encoding. Default is 32768 and maximum is"
                " 1048576"
            ),
            component="UserDataManagerImpl",
            group="Compute",
            subgroup="Virtual Machine",
        ),
        Setting(name="wait", value="1800", default="1800", kind="Number"),
        Setting(name="ping.interval", value="60", default="60", kind="Number", dynamic=False),
        Setting(name="force.ha", value="false", default="false", kind="Boolean"),
        Setting(name="expunge.delay", value="86400", default="86400", kind="Number", dynamic=False),
        Setting(
            name="expunge.interval", value="86400", default="86400", kind="Number", dynamic=False
        ),
        Setting(name="expunge.workers", value="1", default="1", kind="Number", dynamic=False),
        Setting(
            name=PATH_CHECK,
            value="300",
            default="300",
            kind="Number",
            dynamic=False,
        ),
    )
