"""The registration file: what is read, and that all that is wrong is said at once."""

from pathlib import Path

import pytest

from cloudstack_ext.registration.actions import ActionName, RoleType
from cloudstack_ext.registration.settings import SettingName
from cloudstack_ext.registration.wanted import parse_wanted
from provisioner.errors import ErrorCode, InputError

EXAMPLE = Path(__file__).parents[4] / "docs" / "examples" / "cloudstack.yaml"
GOOD = """
version: 1
site: zone1
endpoint: http://127.0.0.1:8080/client/api
zone: zone1
pod: pod1
cluster: {name: metal1}
pools:
  - {host: a, tag: a, pool: pa}
  - {host: b, tag: b, pool: pb}
images:
  - {template: Debian, image: debian-12}
sizes:
  - {name: bm.a, pool: pa, cpu: 4, mhz: 2000, memory_mib: 4096}
actions:
  - {name: why}
"""


def parse(text):
    return parse_wanted(text, source="f.yaml", folder=Path("/folder"))


def problems(text):
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.code is ErrorCode.REGISTRATION_INVALID
    return caught.value.detail.splitlines()


def changed(*pairs):
    text = GOOD
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def test_the_example_is_read_whole():
    wanted = parse_wanted(EXAMPLE.read_text(), source="f", folder=Path("/folder"))
    assert wanted.extension.name == "rackwright"
    assert [pool.host for pool in wanted.pools] == ["h200-a", "general-a"]
    assert wanted.sizes[0].gpucount == 8
    assert wanted.sizes[0].domains == ("ROOT/acme",)
    assert wanted.ca == Path("/folder/cloud-ca.pem")
    assert wanted.host_of("general").tag == "general-a"


def test_what_the_example_comments_out_is_read_too():
    text = EXAMPLE.read_text()
    for key in ("servers:", "foreign_templates:", "settings:"):
        assert f"\n# {key}\n" in text
        text = text.replace(f"\n# {key}\n", f"\n{key}\n")
    wanted = parse_wanted(text.replace("\n#   ", "\n  "), source="f", folder=Path("/folder"))
    assert wanted.servers[0].key_file == Path("/folder/ms.key")
    assert wanted.servers[0].entry_files == Path("/folder/entry-ms1")
    assert wanted.foreign_templates[0].image == "debian-12"
    assert wanted.settings is not None
    assert wanted.settings[SettingName.START_RETRY] == "10"


def test_what_is_left_out_has_a_default():
    wanted = parse(GOOD)
    assert wanted.extension.path == "rackwright-entry"
    assert wanted.actions[0].name is ActionName.WHY
    assert wanted.actions[0].roles == {RoleType.USER}
    assert wanted.images[0].os == "Other Linux (64-bit)"
    assert wanted.sizes[0].domains == ()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("site: zone1", "site: zone1\ncolour: red", "colour: unknown key"),
        ("{host: a, tag", "{host: a, weight: 3, tag", "pools[0].weight: unknown key"),
        ("pod: pod1\n", "", "pod: missing"),
        ("cpu: 4", "cpu: four", "sizes[0].cpu: a whole number is expected"),
        ("cpu: 4", "cpu: 4, gpucount: 0", "sizes[0].gpucount: 1 to 1024 is expected"),
        ("host: b", "host: a", "pools[1].host: a stands twice (pools[0]): one label is one host"),
        (
            "tag: b",
            "tag: a",
            "pools[1].tag: a stands twice (pools[0]): the first host of a tag is always taken",
        ),
        (
            "pool: pb",
            "pool: pa",
            "pools[1].pool: pa stands twice (pools[0]): a pool has one host; to split it, make two",
        ),
        (
            "pool: pb",
            "pool: pb, more_tags: [a]",
            "pools[1].more_tags: a is the first tag of pools[0]",
        ),
        ("pool: pa, cpu", "pool: px, cpu", "sizes[0].pool: px is none of this file's pools"),
        (
            "image: debian-12}",
            "image: debian-12}\n  - {template: Debian, image: x}",
            "images[1].template: Debian stands twice (images[0]): one template has one image",
        ),
        (
            "memory_mib: 4096}",
            "memory_mib: 4096}\n  - {name: bm.a, pool: pa, cpu: 1, mhz: 1, memory_mib: 1}",
            "sizes[1].name: bm.a stands twice (sizes[0]): one offering has one size",
        ),
        (
            "{name: why}",
            "{name: why}\n  - {name: why}",
            "actions[1].name: why stands twice (actions[0])",
        ),
        (
            "{name: why}",
            "{name: cordon, roles: [User]}",
            "actions[0].roles: cordon is for administrators: [Admin]",
        ),
        (
            "{name: why}",
            "{name: why, roles: [Emperor]}",
            "actions[0].roles[0]: one of Admin, ResourceAdmin, DomainAdmin, User is expected",
        ),
        (
            "site: zone1",
            "site: zone1\nextension: {path: entry.SH}",
            "extension.path: ends in .sh, for which CloudStack would write a script of its own",
        ),
        (
            "template: Debian,",
            "template: 'a~b',",
            "images[0].template: one line of at most 128 characters, no ~ is expected",
        ),
        (
            "site: zone1",
            "site: zone1\nsettings: {vm.network.nic.max: '1'}",
            f"settings.vm.network.nic.max: one of {', '.join(SettingName)} is expected",
        ),
        (
            "http://127.0.0.1:8080/client/api",
            "ftp://x",
            "endpoint: https://…/client/api is expected",
        ),
        ("version: 1", "version: 2", "version: 1 is expected"),
    ],
)
def test_a_mistake_is_named_with_its_path(old, new, problem):
    assert problem in problems(changed((old, new)))


def test_all_mistakes_are_named_at_once_unknown_keys_beside_contradictions():
    found = problems(
        changed(
            ("site: zone1", "site: zone1\ncolour: red"),
            ("host: b", "host: a"),
            ("pool: pa, cpu: 4", "pool: px, cpu: four"),
            ("{name: why}", "{name: delete}"),
        )
    )
    beginnings = {each.partition(": ")[0] for each in found}
    assert beginnings == {
        "colour",
        "pools[1].host",
        "sizes[0].pool",
        "sizes[0].cpu",
        "actions[0].name",
    }


@pytest.mark.parametrize("verb", ["create", "delete", "status", "statuses", "getconsole"])
def test_an_action_is_never_called_like_a_verb(verb):
    found = problems(changed(("{name: why}", f"{{name: {verb}}}")))
    assert f"actions[0].name: {verb} is a verb; CloudStack could not tell them apart" in found


@pytest.mark.parametrize("text", ["", "[]", "3", "version: 1\nversion: 1", "a: &x [1]\nb: *x", "{"])
def test_what_is_no_such_file_is_refused_in_one_line(text):
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.code is ErrorCode.REGISTRATION_INVALID
    assert "\n" not in caught.value.brief


def test_lists_of_the_wrong_shape_are_named_and_break_nothing():
    found = problems(
        "version: 1\npools: {}\nsizes: [3, {pool: [1]}]\nactions: nothing\nextension: 4"
    )
    assert "pools: a list is expected" in found
    assert "sizes[0]: a table is expected" in found
    assert "extension: a table is expected" in found
