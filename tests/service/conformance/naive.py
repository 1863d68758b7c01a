#!/usr/bin/env python3
"""An extension as people write them: it works when it is tried by hand."""

import json
import os
import sys
import time

STATE = os.path.join(os.environ.get("EXAMPLE_FOLDER", "/var/lib/naive"), "machines.json")


def load():
    return json.load(open(STATE)) if os.path.exists(STATE) else {}


def save(machines):
    json.dump(machines, open(STATE, "w"))


def answer(**more):
    print(json.dumps({"status": "success", **more}))


def fail(text):
    print(json.dumps({"status": "error", "error": text}))
    sys.exit(1)


action, path = sys.argv[1], sys.argv[2]
payload = json.load(open(path))
vm = payload.get("cloudstack.vm.details", {})
name = payload.get("virtualmachinename", "")
user = payload["caller"]["name"] if "caller" in payload or action == "status" else "nobody"
if action == "create":
    print(f"{action} for {user}", file=sys.stderr)
machines = load()

if action == "prepare":
    machine = f"node{len(machines) + 1}"
    machines[name] = {"machine": machine, "power": "off"}
    save(machines)
    for nic in vm["nics"]:
        nic["mac"] = f"02:00:00:00:00:{len(machines):02x}"
    answer(nics=vm["nics"])
elif action == "create":
    image = payload["externaldetails"]["virtualmachine"]["image"]
    if name not in machines:
        fail("not prepared")
    time.sleep(1)
    machines[name].update(power="on", image=image, mac=vm["nics"][0]["mac"])
    save(machines)
    answer(message=f"installed {image}")
elif action == "start":
    if machines[name]["power"] == "on":
        fail("already on")
    machines[name]["power"] = "on"
    save(machines)
    answer()
elif action == "stop":
    if machines[name]["power"] == "off":
        sys.exit(1)
    machines[name]["power"] = "off"
    save(machines)
    answer()
elif action == "reboot":
    answer() if name in machines else fail("unknown")
elif action == "delete":
    del machines[name]
    save(machines)
    answer()
elif action == "status":
    on = name in machines and machines[name]["power"] == "on"
    answer(power_state="PowerOn" if on else "PowerOff")
else:
    answer(message=f"{action} is done")
