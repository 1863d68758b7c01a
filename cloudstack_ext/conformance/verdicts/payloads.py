"""Pitfalls of what a payload says of an instance, and what it leaves out. Pure."""

from collections.abc import Sequence
from typing import Final

from cloudstack_ext.conformance.verdicts.verdict import Pitfall, behaviour

PAYLOADS: Final[Sequence[Pitfall]] = (
    behaviour(
        "35",
        "no NICs in stop, delete and actions",
        "ports and VLANs are remembered",
        "stop of a stopped instance succeeds",
        "tests/unit/operations/test_start_and_delete.py::test_a_start_uses_the_vlans_of_its_own_payload",
    ),
    behaviour(
        "36",
        "`uuid` of a NIC is its network's",
        "answers name nicUuid alone",
        "prepare answers by nic uuid alone",
    ),
    behaviour(
        "37",
        "the caller is not the owner",
        "nothing is allowed or refused by it; the owner is asked of the API",
        "a stop by the system is a stop",
        "tests/unit/cloudstack_ext/test_certify.py::test_a_first_create_remembers_owner_and_size_and_takes_the_registered_image",
    ),
    behaviour(
        "38",
        "details are replaced as a whole",
        "nothing is read from them after the installation",
        "an instance whose details were replaced is still known",
        "create of a stopped instance starts it without its image",
    ),
    behaviour(
        "39",
        "prepare copies the offering's details into the instance",
        "none of them chooses anything later; prepare answers NICs alone",
        "an instance whose details were replaced is still known",
    ),
    behaviour(
        "40",
        "a template changes after the deployment",
        "its image is looked up at the first create alone",
        "create of a stopped instance starts it without its image",
    ),
    behaviour(
        "41",
        "another offering on a Stopped instance",
        "start is refused with both sizes named",
        "tests/unit/cloudstack_ext/test_certify.py::test_a_start_with_another_offering_is_refused_and_switches_nothing_on",
    ),
    behaviour(
        "42",
        "names change or are missing",
        "the uuid is the key",
        "an instance is known by its uuid and not its name",
    ),
    behaviour(
        "43",
        "a new owner: no call, another MAC",
        "MACs are the binding's; reconciling takes the owner over",
        "an instance whose mac and address changed starts",
        "tests/unit/cloudstack_ext/reconcile/test_loop.py::test_owner_name_and_host_are_taken_over",
    ),
    behaviour(
        "seen a.2",
        "two NICs of one network become one in prepare's answer",
        "answers name nicUuid alone",
        "prepare answers by nic uuid alone",
    ),
    behaviour(
        "seen k",
        "a tenant overrides every detail",
        "nothing of it chooses pool, server or another's image",
        "what a tenant can set chooses no other machine",
        "tests/unit/invariants/test_11_what_a_tenant_chooses.py::test_only_names_in_the_pools_own_map_are_images",
    ),
    behaviour(
        "seen q",
        "user data of a megabyte",
        "is taken; its limit is on the base64 text",
        "a payload of a megabyte is answered in short",
        "tests/unit/cloudstack_ext/test_contract.py::test_user_data_of_the_largest_size_is_taken",
    ),
    behaviour(
        "seen 2.1",
        "user data and keys reach ConfigDrive networks alone",
        "user data that is not in the payload is asked of the API",
        "tests/unit/cloudstack_ext/test_certify.py::test_user_data_is_asked_for_only_where_the_payload_has_none",
    ),
    behaviour(
        "seen 2.2",
        "the instance's password is in the payload in clear",
        "kept as a secret, hashed in the seed",
        "tests/unit/cloudstack_ext/test_recorded_payloads.py::test_a_template_with_passwords_brings_one_that_no_repr_shows",
    ),
    behaviour(
        "seen 2.5",
        "a NIC is added to a running instance by a Java class name",
        "refused; what was added while it was stopped is set at the next start",
        "java class names fail",
        "tests/unit/operations/test_start_and_delete.py::test_a_changed_address_needs_a_reseed_and_stops_nothing",
    ),
    behaviour(
        "seen 2.6",
        "another offering brings other cpus and details to the next start",
        "details choose nothing; another size is refused",
        "an instance whose details were replaced is still known",
        "tests/unit/cloudstack_ext/test_certify.py::test_a_start_with_another_offering_is_refused_and_switches_nothing_on",
    ),
    behaviour(
        "seen 2.7",
        "another owner: another MAC in the payload",
        "MACs are the binding's",
        "an instance whose mac and address changed starts",
    ),
    behaviour(
        "seen 2.8",
        "another address in the next start",
        "recorded as needing a reseed, and started",
        "an instance whose mac and address changed starts",
        "tests/unit/operations/test_start_and_delete.py::test_a_changed_address_needs_a_reseed_and_stops_nothing",
    ),
)
