from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.errors import ErrorCode, InputError
from provisioner.servers.manifest import parse_manifest
from provisioner.servers.model import ControllerProtocol, MacRole, Power, State
from provisioner.units import WallSeconds

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "servers.yaml"
ONE = """
version: 1
servers:
  - name: bios1
    pool: a
    controller: {protocol: ipmi, address: 10.66.0.11, user: admin, password_file: /p}
    firmware: bios
    nics: [{mac: "52:54:00:AA:00:01", roles: [provisioning, tenant], port: tap-bios1}]
    root_disk: {serial: D1}
"""


def problems(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_manifest(text, source="servers.yaml")
    assert caught.value.code is ErrorCode.MANIFEST_INVALID
    return caught.value.detail or caught.value.brief


def changed(old: str, new: str) -> str:
    assert ONE.count(old) == 1
    return ONE.replace(old, new)


def test_the_example_is_valid():
    manifest = parse_manifest(EXAMPLE.read_text(), source="servers.yaml")
    assert [entry.name for entry in manifest.servers] == ["gpu-17", "old-03"]


def test_an_entry_becomes_an_enrolled_server_whose_power_is_unknown():
    record = parse_manifest(ONE, source="x").servers[0].record(WallSeconds(5.0))
    assert (record.state, record.power.power, record.dirty) == (
        State.ENROLLED,
        Power.UNKNOWN,
        False,
    )
    assert record.controller.protocol is ControllerProtocol.IPMI
    assert record.controller.port == 623
    assert record.nics[0].mac == "52:54:00:aa:00:01"
    assert record.provisioning_nic().roles == {MacRole.PROVISIONING, MacRole.TENANT}


def test_the_password_file_stays_on_the_operators_machine():
    entry = parse_manifest(ONE, source="x").servers[0]
    assert entry.controller.password_file == "/p"
    assert entry.without_password_file().controller.password_file is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (changed("name: bios1", "name: Bios_1"), "servers[0].name: a name"),
        (changed("firmware: bios", "firmware: coreboot"), "servers[0].firmware: one of bios, uefi"),
        (changed("roles: [provisioning, tenant]", "roles: [tenant]"), "servers[0].nics: exactly"),
        (changed("roles: [provisioning, tenant]", "roles: []"), "servers[0].nics[0].roles: at"),
        (changed("{serial: D1}", "{}"), "servers[0].root_disk: at least one property"),
        (changed("{serial: D1}", "{colour: red}"), "servers[0].root_disk.colour: unknown key"),
        (changed("firmware: bios", 'firmware: bios\n    console: "ttyS0 init=/bin/sh"'), "console"),
        (changed("firmware: bios", 'firmware: bios\n    kernel_arguments: "a\\nb"'), "kernel_arg"),
        (changed("52:54:00:AA:00:01", "52:54:00:AA:00"), "servers[0].nics[0].mac: a MAC"),
        ("version: 1\nservers: []\n", "servers: at least one is expected"),
        ("version: 1\nversion: 1\nservers: []\n", "version stands twice in line 1, column 1"),
        ("version: 1\nservers: &a [*a]\n", "aliases are not allowed"),
        ("[" * 5000, ": nested too deeply"),
        ("a: [", "line 1, column 5: while parsing a flow node, expected"),
        ("a: *b", ": aliases are not allowed"),
        ("- 1", "document: a table is expected"),
        ("", "document: a table is expected"),
        ("a: !!python/object/apply:os.system [true]", "could not determine a constructor"),
    ],
)
def test_what_is_wrong_is_named(text, problem):
    assert problem in problems(text)
    assert "<unicode" not in problems(text)


def test_what_belongs_to_one_server_is_not_shared():
    second = ONE.partition("servers:\n")[2]
    assert problems(ONE + second).split("\n") == [
        "servers: name bios1 of bios1 is also that of bios1",
        "servers: controller 10.66.0.11:623 of bios1 is also that of bios1",
        "servers: MAC 52:54:00:aa:00:01 of bios1 is also that of bios1",
    ]


@given(st.text())
def test_no_text_gives_anything_but_a_manifest_or_an_input_error(text):
    with suppress(InputError):
        parse_manifest(text, source="x")
