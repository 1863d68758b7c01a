"""For each check the example with one line changed, so that it fails that check.

A row: the line as it stands in the example, and what stands there instead; `CHANGES` gives each
check its row. Several checks may be failed by one change: that is said by giving it twice.
"""

from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "docs/examples/extension/extension.py"

MACHINE = "    machine = FOLDER / request.instance.key.instance"
FOLDER = 'FOLDER = Path(os.environ.get("EXAMPLE_FOLDER", "/var/lib/example-extension"))'
SAYS = 'SAYS = {"on": PowerState.ON, "off": PowerState.OFF, "deleted": PowerState.OFF}'
PARSE = '    request = parse(verb, payload, "example")  # refuses actions, Java class names, too'
UNLOCKED = "    if request.verb is not Verb.STATUS:  # which waits for nobody"
FLOCK = "        fcntl.flock(lock, fcntl.LOCK_EX)"
STATUS = "            return power(SAYS.get(state, PowerState.UNKNOWN))"
DELETE = "        case Verb.DELETE, _:"
STOP = "        case Verb.STOP, _:"
OFF = '            machine.write_text("off" if state == "on" else state)'
OWN = '            own = "02:" + ":".join(machine.name[n : n + 2] for n in (0, 2, 4, 6, 9))'
MACS = "            return prepared({nic.nic_uuid: own for nic in request.instance.networks})"
CREATE = '        case Verb.CREATE, "" | "reserved" | "installing":'
SLEEP = "            time.sleep(1)  # noqa: TID251 stands for the installation"
ON = '        case Verb.CREATE | Verb.START | Verb.REBOOT, "on" | "off":'
DONE = '    return done(f"{verb} is done")'
FAILED = "        reply = failed(error)"
PRINT = "    print(reply.line)"


def says(state, power):
    """`status` says this of that state."""
    return SAYS, SAYS.replace("}", f', "{state}": PowerState.{power}}}')


def succeeds(condition):
    """A refusal is answered with success."""
    return FAILED, f'        reply = done("") if {condition} else failed(error)'


def only(verb, *states):
    """This verb is done in these states alone, and refused in all others."""
    named = " | ".join(f'"{each}"' for each in states)
    return f"        case Verb.{verb}, {named}:"


def also(verb, state):
    """This verb is done in that state too."""
    verbs = "Verb.CREATE | Verb.START | Verb.REBOOT"
    return f'        case ({verbs}, "on" | "off") | (Verb.{verb}, "{state}"):'


def breaks(condition):
    """Ends with a traceback where that is in the payload."""
    return MACHINE, f"{MACHINE} if {condition} else FOLDER / ''  / str(1 // 0)"


INSTALLING_IS_OFF = says("installing", "OFF")
AMONG_PAYLOADS = (FOLDER, "FOLDER = Path(sys.argv[2]).parent")
SYSTEM_IS_IGNORED = (
    OFF,
    OFF.replace('== "on"', """== "on" and b'"name":"system"' not in payload"""),
)

CHANGES = {
    "an instance s whole life": (
        DELETE,
        only("DELETE", "", "reserved", "installing", "on", "deleted"),
    ),
    "a server killed in mid create loses nothing": INSTALLING_IS_OFF,
    "a cancelled job s create ends running": INSTALLING_IS_OFF,
    "status during create is not off": INSTALLING_IS_OFF,
    "maintenance of its host and back": SYSTEM_IS_IGNORED,
    "a stop by the system is a stop": SYSTEM_IS_IGNORED,
    # --- delete
    "delete of what was never heard of succeeds": (
        DELETE,
        only("DELETE", "reserved", "installing", "on", "off", "deleted"),
    ),
    "delete ends soon": (
        '            machine.write_text("deleted")',
        '            machine.write_text("deleted") and state == "on" and time.sleep(4)',
    ),
    "delete may come again": (DELETE, only("DELETE", "", "reserved", "installing", "on", "off")),
    "what was deleted is not on": (
        SAYS,
        SAYS.replace('deleted": PowerState.OFF', 'deleted": PowerState.ON'),
    ),
    "start after delete fails": (
        ON,
        also("START", "deleted"),
    ),
    "create after delete fails": (CREATE, only("CREATE", "", "reserved", "installing", "deleted")),
    "stop after delete succeeds": (STOP, only("STOP", "", "reserved", "installing", "on", "off")),
    "delete during create ends it": (
        UNLOCKED,
        "    if request.verb not in (Verb.STATUS, Verb.DELETE):",
    ),
    # --- output
    "java class names fail": succeeds('"." in sys.argv[1]'),
    "an unknown verb fails": succeeds('str(error).endswith("no such verb")'),
    "a custom action named like a verb is no verb": (
        PARSE,
        """    request = parse(verb, payload.replace(b'"action"', b'"called"'), "example")""",
    ),
    "a custom action that nobody made fails": succeeds(
        "error.code is ErrorCode.CUSTOM_ACTION_REFUSED"
    ),
    "a payload of a megabyte is answered in short": (
        PRINT,
        '    print(reply.line, Path(sys.argv[2]).read_text() if sys.argv[1] == "start" else "")',
    ),
    "nothing is left that keeps the output open": (
        OFF,
        '            state == "off" and os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "3") or '
        + OFF.strip(),
    ),
    "prepare prints an object or nothing": (
        MACS,
        MACS.replace("return ", 'return print("warning: no TLS") or '),
    ),
    "getconsole is a console or a failure": succeeds('sys.argv[1] == "getconsole"'),
    "statuses names every instance or fails": succeeds('sys.argv[1] == "statuses"'),
    "a payload that is not there or cut fails": succeeds('error.code.startswith("PAYLOAD")'),
    "fields that nobody knows are passed over": breaks("b'\"newer\"' not in payload"),
    # --- starts
    "two instances never share a machine": (OWN, '            own = "02:00:00:00:00:01"'),
    "prepare answers by nic uuid alone": (
        MACS,
        MACS.replace("prepared(", "Reply(prepared(") + '.line.replace("nicUuid", "uuid"))',
    ),
    "prepare answers the same when it is asked again": (
        OWN,
        '            own = "02:" + os.urandom(5).hex(":")',
    ),
    "what a tenant can set chooses no other machine": (
        OWN,
        "            own = f\"02:00:00:00:{machine.name[:2]}:{payload.count(b'other'):02d}\"",
    ),
    "what is only prepared is not on": says("reserved", "ON"),
    "create needs no prepare before it": (CREATE, only("CREATE", "reserved", "installing")),
    "create of a running instance changes nothing": (
        ON,
        '        case (Verb.START | Verb.REBOOT, "on" | "off") | (Verb.CREATE, "off"):',
    ),
    "create of a stopped instance starts it without its image": (
        ON,
        '        case (Verb.START | Verb.REBOOT, "on" | "off") | (Verb.CREATE, "on"):',
    ),
    "a create that was killed is taken up again": (CREATE, only("CREATE", "", "reserved")),
    "create after a failed one and its stop succeeds": (
        OFF,
        '            machine.write_text({"on": "off", "installing": "deleted"}.get(state, state))',
    ),
    "two creates at once both succeed": (
        FLOCK,
        FLOCK.replace("LOCK_EX", "LOCK_EX | fcntl.LOCK_NB"),
    ),
    "create ends before it would be killed": (
        SLEEP,
        "            time.sleep(1 if int(sys.argv[3]) > 5 else 9)",
    ),
    "start of what was never created fails": (
        ON,
        also("START", ""),
    ),
    "reboot of what was never created fails": (
        ON,
        also("REBOOT", ""),
    ),
    "start of a running instance succeeds": (
        ON,
        '        case (Verb.CREATE | Verb.REBOOT, "on" | "off") | (Verb.START, "off"):',
    ),
    "an instance whose details were replaced is still known": breaks(
        "b'External:image' in payload"
    ),
    "an instance whose mac and address changed starts": breaks("b'fe:dc:ba' not in payload"),
    "an instance is known by its uuid and not its name": (
        MACHINE,
        "    machine = FOLDER / (request.instance.key.instance + request.instance.name)",
    ),
    # --- status
    "status of what was never heard of is unknown": says("", "OFF"),
    "status of what was never heard of is no failure": (
        STATUS,
        "            return power(SAYS[state])",
    ),
    "status needs no caller": (
        STATUS,
        STATUS[:-1] + " if b'\"caller\"' in payload else PowerState.UNKNOWN)",
    ),
    "status is quick": (
        STATUS,
        STATUS.replace("return ", """return time.sleep(2 * (b'"caller"' not in payload)) or """),
    ),
    "many statuses at once all say the same": (
        STATUS,
        STATUS.replace(
            "return ",
            'return os.mkdir(f"{machine}.d") or time.sleep(0.05) or os.rmdir(f"{machine}.d") or ',
        ),
    ),
    "another server hears the same": AMONG_PAYLOADS,
    "nothing of its own lies among the payloads": AMONG_PAYLOADS,
    # --- stop
    "stop of what was never heard of succeeds": (
        STOP,
        only("STOP", "reserved", "installing", "on", "off", "deleted"),
    ),
    "stop of a stopped instance succeeds": (
        STOP,
        only("STOP", "", "reserved", "installing", "on", "deleted"),
    ),
    "what was stopped is off": (
        OFF,
        OFF.replace('== "on"', '== "on" and b\'"name":"system"\' in payload'),
    ),
    "stop during create succeeds and the next create too": (
        FLOCK,
        FLOCK.replace("LOCK_EX", "LOCK_EX | (verb == 'stop') * fcntl.LOCK_NB"),
    ),
    "reboot never shows off": (
        ON,
        ON[:-1] + ' if verb != "reboot" or machine.write_text("off") and not time.sleep(0.3):',
    ),
}


def changed(old, new):
    """The example with that one line, in its place."""
    lines = EXAMPLE.read_text().split("\n")
    (at,) = [number for number, line in enumerate(lines) if line.strip() == old.strip()]
    lines[at] = lines[at].replace(old.strip(), new.strip())
    return "\n".join(lines)
