#!/usr/bin/env python3
"""An Orchestrator extension in forty lines: its machines are files that say `on` or `off`."""

import fcntl
import os
import sys
import time
from pathlib import Path

from cloudstack_ext.contract import Reply, Verb, done, failed, parse, power, prepared
from cloudstack_ext.power_view import PowerState
from provisioner.errors import ErrorCode, InputError, RackwrightError

FOLDER = Path(os.environ.get("EXAMPLE_FOLDER", "/var/lib/example-extension"))
SAYS = {"on": PowerState.ON, "off": PowerState.OFF, "deleted": PowerState.OFF}


def answer(verb: str, payload: bytes) -> Reply:
    """What is printed, and the exit status; refusals are raised."""
    request = parse(verb, payload, "example")  # refuses actions, Java class names, too
    machine = FOLDER / request.instance.key.instance
    with Path(f"{machine}.lock").open("w") as lock:  # goes with its process, however that ends
        if request.verb is not Verb.STATUS:  # which waits for nobody
            fcntl.flock(lock, fcntl.LOCK_EX)
        state = machine.read_text() if machine.exists() else ""
        match request.verb, state:
            case Verb.STATUS, _:
                return power(SAYS.get(state, PowerState.UNKNOWN))
            case Verb.DELETE, _:
                machine.write_text("deleted")
            case Verb.STOP, _:
                machine.write_text("off" if state == "on" else state)
            case Verb.PREPARE, "" | "reserved":
                machine.write_text("reserved")
                own = "02:" + ":".join(machine.name[n : n + 2] for n in (0, 2, 4, 6, 9))
                return prepared({nic.nic_uuid: own for nic in request.instance.networks})
            case Verb.CREATE, "" | "reserved" | "installing":
                machine.write_text("installing")
                time.sleep(1)  # noqa: TID251 stands for the installation
                machine.write_text("on")
            case Verb.CREATE | Verb.START | Verb.REBOOT, "on" | "off":
                machine.write_text("on")
            case _:
                raise InputError(ErrorCode.INSTANCE_UNKNOWN, f"no {verb} of {state or 'nothing'}")
    return done(f"{verb} is done")


if __name__ == "__main__":
    try:
        reply = answer(sys.argv[1], Path(sys.argv[2]).read_bytes())
    except RackwrightError as error:
        reply = failed(error)
    print(reply.line)
    sys.exit(reply.exit)
