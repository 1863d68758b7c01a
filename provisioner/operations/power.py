"""Start, stop and reboot of a server that a tenant has."""

from provisioner.operations import port_steps, power_steps
from provisioner.operations.steps import StepList
from provisioner.servers.states import Intent

START = StepList(
    name="start/1",
    kind=Intent.POWER,
    steps=(port_steps.TO_TENANT, power_steps.DISK_FIRST, power_steps.ON),
)
STOP = StepList(
    name="stop/1",
    kind=Intent.POWER,
    steps=(power_steps.OFF_GRACEFULLY, port_steps.AT_REST),
)
START_FROM_OFF = StepList(
    name="start-from-off/1",
    kind=Intent.POWER,
    steps=(
        power_steps.OFF_GRACEFULLY,
        port_steps.TO_TENANT,
        power_steps.DISK_FIRST,
        power_steps.ON,
    ),
)
"""Where what runs is not the tenant's own system: that is off before a port leads to the tenant."""
REBOOT = StepList(
    name="reboot/1",
    kind=Intent.POWER,
    steps=(
        port_steps.TO_TENANT,
        power_steps.OFF_GRACEFULLY,
        power_steps.DISK_FIRST,
        power_steps.ON,
    ),
)
