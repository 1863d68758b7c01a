"""The calls of each walk, word for word, and how a walk is looked at."""

NETWORK_BOOT = [
    "controller: read identity",
    "controller: leave nonce",
    "controller: boot network once uefi",
    "controller: read boot",
    "boot: offer {mac}",
    "controller: read identity",
    "controller: read power",
    "controller: power on",
    "controller: read power",
    "controller: open console",
    "controller: read identity",
    "controller: remove nonce",
]
WITHDRAWN = ["boot: withdraw {mac}"]
MEDIA = ["controller: read identity", "controller: read media"]
OFF_AGAIN = [
    "controller: read identity",
    "controller: read power",
    "controller: power off",
    "controller: read power",
]
IS_OFF = ["controller: read identity", "controller: read power"]
START = [
    "port: port tap-s1 to tenant 101",
    "controller: read identity",
    "controller: boot disk once uefi",
    "controller: read boot",
    "controller: read identity",
    "controller: read power",
    "controller: power on",
    "controller: read power",
    "controller: open console",
]
DEPLOY = [
    *IS_OFF,
    "port: port tap-s1 to provisioning",
    *NETWORK_BOOT,
    *WITHDRAWN,
    *IS_OFF,  # the agent was told to end, and did
    *START,
    "controller: read identity",
    "controller: read boot progress",
]
RELEASE = [
    *OFF_AGAIN,
    *IS_OFF,
    "port: port tap-s1 to quarantine",
    *IS_OFF,  # after its rest
    "port: port tap-s1 to provisioning",
    *NETWORK_BOOT,
    *MEDIA,
    *WITHDRAWN,
    *IS_OFF,
    "port: port tap-s1 to quarantine",
]


def calls(world, expected, name="s1"):
    mac = world.server(name).provisioning_nic().mac
    return [line.format(mac=mac).replace("tap-s1", f"tap-{name}") for line in expected]


def last(world):
    """The newest operation of s1."""
    return world.database.operations.operations(server="s1")[0].id


def at_each_step(world, look):
    """What is seen as each step begins."""
    seen, begin = {}, world.effects.begin

    def begun(operation, step, **more):
        seen[step] = look()
        return begin(operation, step, **more)

    world.effects.begin = begun
    return seen
