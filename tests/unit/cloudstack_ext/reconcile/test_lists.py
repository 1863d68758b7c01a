"""The two lists of one site as one, and whether the key sees our world in them."""

import asyncio

import pytest

from cloudstack_ext.reconcile.lists import read_union
from provisioner.errors import ErrorCode, RackwrightError
from provisioner.ports.registered import RegisteredRow
from provisioner.testing.clock import FakeClock

INSTANCE = {
    "id": "i-1",
    "instancename": "i-2-1-VM",
    "account": "alice",
    "domainpath": "ROOT",
    "serviceofferingid": "o-1",
    "state": "Running",
    "hostname": "pool-a",
    "deleteprotection": True,
}
HIDDEN = INSTANCE | {"id": "i-2", "instancename": "i-2-2-VM"}
SHOWN = {
    "listExtensions": [{"id": "e-1"}, {"id": "another"}],
    "listHosts": [{"id": "h-1", "name": "pool-a"}, {"id": "h-2", "name": "pool-b"}],
}


def row(number, kind, outside_id, *, retired=False):
    return RegisteredRow(
        number=number,
        site="lab",
        kind=kind,
        name=f"{kind}-{number}",
        outside_id=outside_id,
        facts={},
        retired=retired,
        at=0.0,
    )


ROWS = (
    row(1, "extension", "e-1"),
    row(2, "host", "h-1"),
    row(3, "host", "h-2"),
    row(4, "host", "h-0", retired=True),
    row(5, "host", None),
    row(6, "template", "t-1"),
)


class Api:
    """Answers as told, and knows what it was asked."""

    def __init__(self, **shown):
        self.shown, self.asked = SHOWN | shown, []

    async def every(self, command, _of, parameters):
        if command != "listVirtualMachines":
            return self.shown[command]
        self.asked.append(dict(parameters))
        return [HIDDEN] if "displayvm" in parameters else [INSTANCE]


def read(api, rows=ROWS):
    return asyncio.run(read_union(api, rows, FakeClock()))


def test_a_union_is_both_lists_of_all_projects_and_accounts():
    api = Api()
    union = read(api)
    assert set(union.instances) == {"i-1", "i-2"}
    everybody = {"listall": "true", "projectid": "-1", "extensionid": "e-1"}
    assert api.asked == [everybody, everybody | {"displayvm": "false"}]
    one = union.instances["i-1"]
    assert (one.owner, one.host, one.is_protected) == ("ROOT/alice", "pool-a", True)
    assert union.hosts == {"pool-a", "pool-b"}


@pytest.mark.parametrize(
    ("shown", "sees_ours"),
    [
        ({}, True),
        ({"listExtensions": [{"id": "another"}]}, False),
        ({"listExtensions": []}, False),
        ({"listHosts": [{"id": "h-1", "name": "pool-a"}]}, False),
        ({"listHosts": []}, False),
    ],
)
def test_a_key_sees_our_world_where_it_sees_our_extension_and_every_host(shown, sees_ours):
    assert read(Api(**shown)).sees_ours is sees_ours


def test_without_a_registered_extension_nothing_can_be_told_apart():
    with pytest.raises(RackwrightError) as error:
        read(Api(), ROWS[1:])
    assert error.value.code is ErrorCode.REGISTRATION_ROW


def test_a_list_with_a_row_of_another_form_is_no_list():
    api = Api()
    api.every = lambda *asked: odd(Api(), asked)
    with pytest.raises(RackwrightError, match="an instance without"):
        read(api)


async def odd(api, asked):
    rows = await api.every(*asked)
    return [{"id": "i-1"}] if asked[0] == "listVirtualMachines" else rows
