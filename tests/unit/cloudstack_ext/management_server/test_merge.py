import json

import pytest

from cloudstack_ext.management_server.merge import UnparsableError, merged

RECEIVED = {
    "details": {"deployvm": "true", "External:image": "x", "External:gpu": "of the offering"},
    "nics": [
        {"nicUuid": "n1", "uuid": "net1", "mac": "m1", "ip": "i1"},
        {"nicUuid": "n2", "uuid": "net2", "mac": "m2", "ip": "i2"},
    ],
}


def taken(answer, received=RECEIVED):
    return dict(merged(received, answer if isinstance(answer, str) else json.dumps(answer)).nics)


def test_a_nic_is_changed_by_its_nic_uuid_alone():
    assert taken({"nics": [{"nicUuid": "n2", "mac": "new"}]}) == {"n2": {"mac": "new"}}
    both = [{"nicUuid": "n1", "mac": "a", "ip": "b"}, {"nicUuid": "n2", "mac": "c"}]
    assert taken({"nics": both}) == {"n1": {"mac": "a", "ip": "b"}, "n2": {"mac": "c"}}


def test_the_whole_array_back_works_for_different_networks():
    back = [nic | {"mac": f"new-{nic['mac']}"} for nic in RECEIVED["nics"]]
    assert {n: v["mac"] for n, v in taken({"nics": back}).items()} == {
        "n1": "new-m1",
        "n2": "new-m2",
    }


def test_two_nics_of_one_network_become_one_when_they_carry_its_uuid():
    one = {"details": {}, "nics": [nic | {"uuid": "net"} for nic in RECEIVED["nics"]]}
    back = [nic | {"mac": f"new-{nic['mac']}"} for nic in one["nics"]]
    assert taken({"nics": back}, one) == {"n2": {"mac": "new-m2", "ip": "i2"}}
    without = [{"nicUuid": nic["nicUuid"], "mac": nic["mac"]} for nic in back]
    assert set(taken({"nics": without}, one)) == {"n1", "n2"}


@pytest.mark.parametrize(
    "answer",
    [
        "",
        " \n",
        {},
        {"status": "error"},
        {"nics": [{"mac": "m"}]},
        {"nics": None},
        {"details": None},
        {"nics": [{"nicUuid": "n1", "mac": None}]},
    ],
)
def test_these_are_no_change(answer):
    found = merged(RECEIVED, answer if isinstance(answer, str) else json.dumps(answer))
    assert not any(found.nics.values())
    assert found.details in (None, RECEIVED["details"])


@pytest.mark.parametrize(
    "answer", ["hello", "[]", 'warn\n{"nics":[]}', '{"nics":7}', "7", "[" * 9999]
)
def test_these_are_a_failure_of_prepare(answer):
    with pytest.raises(UnparsableError):
        merged(RECEIVED, answer)


def test_details_are_saved_as_text_with_a_copy_of_the_offering_s():
    found = merged(
        RECEIVED, '{"details":{"External:node":7,"bare":"b"},"vncPassword":"p","cpus":9}'
    )
    assert found.details == RECEIVED["details"] | {"External:node": "7", "bare": "b"}
