"""A whole life with logs at debug level, and then everything that was left behind is searched."""

import base64
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cloudstack_ext.contract import DETAILS, Verb
from cloudstack_ext.lab.instances import instance_of
from cloudstack_ext.lab.payload import lab_payload
from cloudstack_ext.management_server.wire import wire

pytestmark = pytest.mark.emulated

USER_DATA = "user-data-canary-5b1f"
PASSWORD = "vm-password-canary-77ac"
TOKEN = re.compile(r"rackwright\.token=([0-9a-f]+)")


@pytest.fixture
def loud(site):
    text = site.config.read_text()
    site.config.write_text(text.replace("[service]\n", '[service]\nlog_level = "debug"\n'))
    site.start()
    return site


def payload(verb):
    one = instance_of("one", user_data=f"#cloud-config\n# {USER_DATA}\n".encode())
    body = json.loads(lab_payload(Verb(verb), one))
    body[DETAILS].setdefault("vmData", []).append(["password", "vm_password", PASSWORD])
    return wire(body)


def watch_tokens(machine):
    """Every token that a start of this machine was given."""
    tokens, script = [], machine._script

    def watched(alive):
        words = script(alive)
        tokens.extend(TOKEN.findall(words or ""))
        return words

    machine._script = watched
    return tokens


def of_the_process(pid):
    """What anybody on this machine may read of it, and of what it has started."""
    found = b""
    for each in Path("/proc").glob("[0-9]*"):
        try:
            stat = (each / "stat").read_text()
            parent = int(stat.rpartition(")")[2].split()[1])
            if int(each.name) == pid or parent == pid:
                found += (each / "cmdline").read_bytes() + (each / "environ").read_bytes()
        except (OSError, IndexError):
            continue
    return found


def on_disk(site):
    """Database, its log ahead of writing, files beside operations, configurations, the log."""
    keys = {"secrets.key", "evidence.key", "ca.key", "server.key"}
    files = [each for each in site.folder.rglob("*") if each.is_file() and each.name not in keys]
    files = [each for each in files if "payloads" not in each.parts]  # CloudStack's own
    assert any(each.name == "boot.ipxe" for each in files)
    return b"\n".join(each.read_bytes() for each in files)


def forms(secret):
    """As it is, in hexadecimal and in base64 up to the end, which depends on what follows."""
    text = secret.encode()
    assert len(text) > 15, "a short one stands anywhere by chance"
    return {text, text.hex().encode(), base64.b64encode(text)[:-4]}


def test_nothing_that_is_secret_is_left_behind_or_shown(loud):
    machine = loud.rack["s1"]
    tokens = watch_tokens(machine)
    controller = machine.board.password
    held = loud.rack.log.hold("s1 agent write_seed")
    with ThreadPoolExecutor(1) as pool:
        create = pool.submit(loud.send, "create", payload("create"))
        held.wait()
        try:
            shown = [on_disk(loud), of_the_process(loud.process.pid)]  # while the seed is kept
        finally:
            held.let_go()
        answers = [create.result(), loud.send("delete", payload("delete"))]
    assert [each.exit for each in answers] == [0, 0]
    loud.until_state("s1", "AVAILABLE")
    shown += [on_disk(loud), *(json.dumps(each.body).encode() for each in answers)]
    for (operation,) in loud.rows("SELECT id FROM operation"):
        shown.append(json.dumps(loud.client.ask("GET", f"/v1/operations/{operation}")).encode())
    assert '"level": "debug"' in loud.log()
    whole = b"\n".join(shown)
    assert instance_of("one").uuid.encode() in whole  # what is looked for would be found
    assert len(tokens) == 2
    for secret in (USER_DATA, PASSWORD, controller, *tokens):
        for form in forms(secret):
            assert form not in whole, secret
    assert loud.rows("SELECT count(*) FROM seed") == [(0,)]
