"""Every pitfall of CloudStack's contract with its verdict; docs/pitfalls.md is made from it. Pure.

Numbers are those of the contract's table; "seen" and "read" name sections of what was seen on a
running server 4.22 and of what was read from its source.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

OWN: Final = "tests/"
"""What a test's name begins with that is our own; all others are names of conformance checks."""
ELSEWHERE_MOST: Final = 15
"""Verdicts that are no behaviour and no check of the registration."""


class Kind(StrEnum):
    """Who keeps it from happening."""

    BEHAVIOUR = "behaviour"
    REGISTRATION = "registration"
    SITE = "site"
    NOT_MET = "cannot be met by an extension"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pitfall:
    """One row.

    Attributes:
        number: As in the contract, or "seen 2.3".
        situation: In a few words.
        kind: The verdict.
        by: Tests (conformance checks by their names, our own as `file::test`); of REGISTRATION
            checks of `verify`; of SITE the settings or checks that it advises on.
        answer: What is done about it, in a sentence.
        source: Of SITE and NOT_MET: what makes it so.
    """

    number: str
    situation: str
    kind: Kind
    by: tuple[str, ...] = ()
    answer: str
    source: str = ""


def _behaviour(number: str, situation: str, answer: str, *by: str) -> Pitfall:
    return Pitfall(number=number, situation=situation, kind=Kind.BEHAVIOUR, answer=answer, by=by)


def _registration(number: str, situation: str, answer: str, *by: str) -> Pitfall:
    return Pitfall(number=number, situation=situation, kind=Kind.REGISTRATION, answer=answer, by=by)


def _elsewhere(
    number: str, situation: str, kind: Kind, answer: str, source: str, *by: str
) -> Pitfall:
    return Pitfall(
        number=number, situation=situation, kind=kind, answer=answer, source=source, by=by
    )


_CALLERS = "tests/service/faults/test_callers.py::"
_ENTRY = "tests/service/entry/test_entry.py::"
_VIEW = "tests/unit/cloudstack_ext/test_power_view.py::"

CONTRACT: Final[Sequence[Pitfall]] = (
    _behaviour(
        "1",
        "create fails: stop follows, never delete",
        "the claim waits for the next create, and is given back when none comes",
        "create after a failed one and its stop succeeds",
        f"{_CALLERS}test_a_stop_after_a_failed_create_gives_the_server_back_when_nobody_asks_again",
    ),
    _behaviour(
        "2",
        "create is sent up to eleven times",
        "a failure is remembered for ten minutes and answered at once",
        "tests/unit/operations/test_create.py::test_a_failure_is_remembered_for_ten_minutes_and_answered_at_once",
    ),
    _behaviour(
        "3",
        "prepare fails: create comes without it",
        "create claims by itself",
        "create needs no prepare before it",
    ),
    _behaviour(
        "4",
        "attempts on different hosts",
        "the binding is by uuid; a reservation in another pool is given back",
        "prepare answers the same when it is asked again",
        "tests/unit/store/test_reservation.py::test_a_reservation_in_another_pool_is_given_back",
    ),
    _behaviour(
        "5",
        "start of what was never created",
        "refused; no machine is booted",
        "start of what was never created fails",
        "reboot of what was never created fails",
    ),
    _behaviour(
        "6",
        "create of what is installed already",
        "is a start, never an installation",
        "create of a running instance changes nothing",
        "create of a stopped instance starts it without its image",
        "tests/unit/cloudstack_ext/test_verbs.py::test_create_for_an_installed_instance_installs_nothing_whoever_asks",
    ),
    _behaviour(
        "7",
        "stop of what is off, unknown or never created",
        "succeeds and touches nothing",
        "stop of what was never heard of succeeds",
        "stop of a stopped instance succeeds",
        "stop after delete succeeds",
    ),
    _behaviour(
        "8",
        "a Stopped instance is never stopped again, its machine may be on by hand",
        "status says unknown, and an alarm says so",
        f"{_VIEW}test_a_server_on_that_is_wanted_off_is_an_alarm",
    ),
    _behaviour(
        "9",
        "the forced flag is not in the payload",
        "each stop is graceful first, hard at its deadline",
        "what was stopped is off",
        "tests/unit/operations/test_conversation.py::test_graceful_first_then_hard",
    ),
    _behaviour(
        "10",
        "a forced stop fails: Stopped in CloudStack, the machine maybe on",
        "reconciling does a stop that CloudStack believes done",
        "tests/unit/cloudstack_ext/reconcile/test_loop.py::test_a_stop_that_cloudstack_believes_done_is_done",
    ),
    _behaviour(
        "11",
        "destroy without expunge is a stop, and can be taken back",
        "disks and claim stay until delete",
        "an instance s whole life",
    ),
    _behaviour(
        "12",
        "expunge is delete: quick, again and again, wiped afterwards",
        "answered within ten seconds, for ever true; the wipe goes on behind it",
        "delete of what was never heard of succeeds",
        "delete ends soon",
        "delete may come again",
        "delete during create ends it",
        "start after delete fails",
        "create after delete fails",
    ),
    _behaviour(
        "13",
        "what never ran is expunged without any call",
        "a claim that no create takes up ends by itself",
        "delete of what was never heard of succeeds",
        f"{_CALLERS}test_a_stop_after_a_failed_create_gives_the_server_back_when_nobody_asks_again",
    ),
    _behaviour(
        "14",
        "a failing or slow delete blocks the expunge thread",
        "it succeeds soon, and may come again",
        "delete ends soon",
        "delete may come again",
    ),
    _behaviour(
        "15",
        "PowerOff by mistake stops a healthy machine",
        "off is said after three readings over half a minute, all newer than the last command",
        "reboot never shows off",
        "status of what was never heard of is unknown",
        "tests/unit/cloudstack_ext/test_status_of_servers.py::test_off_by_itself_only_after_three_readings_over_half_a_minute",
    ),
    _behaviour(
        "16",
        "PowerOn of a Stopped instance makes it Running",
        "on is said only of what CloudStack has and wants on",
        "what is only prepared is not on",
        "what was deleted is not on",
    ),
    _registration(
        "17",
        "the entry is gone for some minutes: all instances Stopped without a call",
        "placed by atomic rename only, and looked at on each server",
        "entry",
        "path state",
    ),
    _registration(
        "18",
        "a Disabled extension: no stop, no delete; but status goes on (seen h)",
        "said to be bad",
        "extension state",
    ),
    _behaviour(
        "19",
        "more than 64 KiB of output",
        "one line, never more than 32 KiB",
        "a payload of a megabyte is answered in short",
        f"{_ENTRY}test_the_largest_line_is_printed_and_one_byte_more_is_not",
    ),
    _behaviour(
        "20",
        "a word on stderr breaks the JSON",
        "stderr of the entry leads nowhere",
        "prepare prints an object or nothing",
        "getconsole is a console or a failure",
        f"{_ENTRY}test_its_stderr_leads_nowhere",
    ),
    _behaviour(
        "21",
        "a child in the background keeps the output",
        "the entry starts nothing; what takes long is the service's",
        "nothing is left that keeps the output open",
    ),
    _behaviour(
        "22",
        "SIGKILL at the end of the wait, to the direct child alone",
        "an answer comes at 80 % of it; what was begun goes on and is attached to",
        "create ends before it would be killed",
        "a create that was killed is taken up again",
    ),
    _behaviour(
        "23",
        "the management server ends in mid create",
        "the installation goes on; status says unknown until it is up",
        "a server killed in mid create loses nothing",
        "a create that was killed is taken up again",
    ),
    _behaviour(
        "24",
        "two management servers call for one instance",
        "one operation, to which both are attached",
        "two creates at once both succeed",
        "start of a running instance succeeds",
        "another server hears the same",
        "create after delete fails",
    ),
    _behaviour(
        "25",
        "a job is cancelled while create goes on",
        "unknown meanwhile: it ends Running; a stop touches nothing; the setting is advised on",
        "a cancelled job s create ends running",
        "status during create is not off",
        "stop during create succeeds and the next create too",
    ),
    _elsewhere(
        "26",
        "wait and commands.timeout hold for all hypervisors",
        Kind.SITE,
        "advice with the reason and whether a restart is needed; changed with --settings only",
        "read 1.4: global settings, read once at the start of the server",
        "wait",
        "commands.timeout",
    ),
    _behaviour(
        "27",
        "maintenance of a host stops the whole pool",
        "a stop like any other, and `verify` warns; a single server is never put into it",
        "maintenance of its host and back",
    ),
    _elsewhere(
        "28",
        "deleteHost: Stopped without a call, start and expunge fail for ever",
        Kind.NOT_MET,
        "`unregister` refuses while there are instances; reconciling names a host that is gone",
        "seen 2.11: no verb is sent, and the planner fails inside the server",
    ),
    _elsewhere(
        "29",
        "a Disabled host still gets its own restarts",
        Kind.NOT_MET,
        "a start that is sent is done; `verify` warns of the host's state",
        "seen p: the last host is taken without a look at its state, and no payload tells it",
    ),
    _registration(
        "30",
        "two hosts of one label collide",
        "a label twice in the file is refused before any call",
        "plan",
    ),
    _registration(
        "31",
        "a host that was added too early is never ready",
        "hosts are added after one full check; one that is not Up is told to be reconnected",
        "host state",
        "path state",
    ),
    _registration(
        "32",
        "only the entry file's checksum is compared",
        "the entry is one file with a constant content; its configuration is looked at too",
        "entry",
        "entry configuration",
    ),
    _behaviour(
        "33",
        "a custom action named like a verb",
        "the payload's key `action` decides, whatever argv says",
        "a custom action named like a verb is no verb",
        "a custom action that nobody made fails",
    ),
    _behaviour(
        "34",
        "Java class names as verbs, without an instance",
        "fail at once, without a word to the service",
        "java class names fail",
    ),
    _behaviour(
        "35",
        "no NICs in stop, delete and actions",
        "ports and VLANs are remembered",
        "stop of a stopped instance succeeds",
        "tests/unit/operations/test_start_and_delete.py::test_a_start_uses_the_vlans_of_its_own_payload",
    ),
    _behaviour(
        "36",
        "`uuid` of a NIC is its network's",
        "answers name nicUuid alone",
        "prepare answers by nic uuid alone",
    ),
    _behaviour(
        "37",
        "the caller is not the owner",
        "nothing is allowed or refused by it; the owner is asked of the API",
        "a stop by the system is a stop",
        "tests/unit/cloudstack_ext/test_certify.py::test_a_first_create_remembers_owner_and_size_and_takes_the_registered_image",
    ),
    _behaviour(
        "38",
        "details are replaced as a whole",
        "nothing is read from them after the installation",
        "an instance whose details were replaced is still known",
        "create of a stopped instance starts it without its image",
    ),
    _behaviour(
        "39",
        "prepare copies the offering's details into the instance",
        "none of them chooses anything later; prepare answers NICs alone",
        "an instance whose details were replaced is still known",
    ),
    _behaviour(
        "40",
        "a template changes after the deployment",
        "its image is looked up at the first create alone",
        "create of a stopped instance starts it without its image",
    ),
    _behaviour(
        "41",
        "another offering on a Stopped instance",
        "start is refused with both sizes named",
        "tests/unit/cloudstack_ext/test_certify.py::test_a_start_with_another_offering_is_refused_and_switches_nothing_on",
    ),
    _behaviour(
        "42",
        "names change or are missing",
        "the uuid is the key",
        "an instance is known by its uuid and not its name",
    ),
    _behaviour(
        "43",
        "a new owner: no call, another MAC",
        "MACs are the binding's; reconciling takes the owner over",
        "an instance whose mac and address changed starts",
        "tests/unit/cloudstack_ext/reconcile/test_loop.py::test_owner_name_and_host_are_taken_over",
    ),
    _elsewhere(
        "44",
        "high availability",
        Kind.SITE,
        "offerings of the plan never offer it; `force.ha` is advised on",
        "seen 2.4: fails inside the server whatever is answered, and comes again",
        "force.ha",
    ),
    _registration(
        "45",
        "a GPU profile in an offering ends the pings of a host",
        "never in the plan; one with our tag is said to be bad",
        "offering",
    ),
    _behaviour(
        "46",
        "secrets in details are clear text everywhere",
        "none is put there or asked for there",
        "tests/unit/invariants/test_12_secrets.py::test_a_whole_walk_leaves_no_secret_anywhere",
    ),
    _behaviour(
        "47",
        "the text of an error is invisible to the user",
        "an annotation of the instance tells it",
        "tests/unit/cloudstack_ext/test_failure_notes.py::test_a_failed_deployment_is_explained_once_and_names_no_server",
        "tests/service/faults/test_failure_notes.py::test_the_tenant_reads_why_and_reads_it_no_more_after_a_success",
    ),
    _behaviour(
        "48",
        "the documentation's `deploy` is `create`",
        "create is served, what no server sends is refused",
        "create needs no prepare before it",
        "an unknown verb fails",
    ),
    _behaviour(
        "49",
        "hundreds of calls at once",
        "a server is given out in one atomic statement",
        "two instances never share a machine",
        "many statuses at once all say the same",
        f"{_CALLERS}test_64_creates_at_once_for_two_servers",
    ),
    _behaviour(
        "50",
        "the samples in CloudStack's tree are no models",
        "an extension as people write them fails at least 25 of the checks",
        "tests/service/conformance/test_example.py::test_a_naive_extension_fails_many",
    ),
)

SEEN: Final[Sequence[Pitfall]] = (
    _behaviour(
        "seen a.2",
        "two NICs of one network become one in prepare's answer",
        "answers name nicUuid alone",
        "prepare answers by nic uuid alone",
    ),
    _behaviour(
        "seen a2",
        "a failing prepare does not stop a deployment",
        "create decides; what prepare would refuse it refuses too",
        "create needs no prepare before it",
        "tests/unit/cloudstack_ext/test_verbs.py::test_an_image_that_the_pool_lacks_is_refused_early_and_in_create",
    ),
    _behaviour(
        "seen c",
        "the stop after a failed create has NICs and disks",
        "they are not looked at",
        "stop of what was never heard of succeeds",
        "create after a failed one and its stop succeeds",
    ),
    _behaviour(
        "seen d",
        "the text of a failing forced stop reaches the user",
        "a tenant may read each text: no machine is named",
        "tests/service/faults/test_actions_change.py::test_a_failure_is_explained_without_naming_the_machine",
    ),
    _behaviour(
        "seen g2",
        "a held output is a race: three of ten calls hang",
        "nothing is left behind",
        "nothing is left that keeps the output open",
    ),
    _behaviour(
        "seen h",
        "status goes on while Disabled, in maintenance and during create",
        "answered from memory, whatever else goes on",
        "status is quick",
        "status during create is not off",
    ),
    _behaviour(
        "seen h.7",
        "each failing status leaves a file behind",
        "status does not fail for want of knowledge",
        "status of what was never heard of is no failure",
    ),
    _behaviour(
        "seen i.2",
        "off at the first ping after a restart: never asked for again",
        "unknown until it is up",
        "a server killed in mid create loses nothing",
    ),
    _behaviour(
        "seen i.3",
        "deployvm stays: the next start of a used machine is create",
        "is a start",
        "create of a running instance changes nothing",
        "create of a stopped instance starts it without its image",
    ),
    _registration(
        "seen j",
        "a stopped instance with a GPU profile blinds its host, and cannot be expunged",
        "never in the plan; one with our tag is said to be bad",
        "offering",
    ),
    _behaviour(
        "seen k",
        "a tenant overrides every detail",
        "nothing of it chooses pool, server or another's image",
        "what a tenant can set chooses no other machine",
        "tests/unit/invariants/test_11_what_a_tenant_chooses.py::test_only_names_in_the_pools_own_map_are_images",
    ),
    _elsewhere(
        "seen p",
        "maintenance of a host with instances ends in ErrorInMaintenance",
        Kind.NOT_MET,
        "`verify` says never to do it, and shows the host's state",
        "seen p: the server's own state, while all stops succeed",
        "maintenance",
    ),
    _behaviour(
        "seen q",
        "user data of a megabyte",
        "is taken; its limit is on the base64 text",
        "a payload of a megabyte is answered in short",
        "tests/unit/cloudstack_ext/test_contract.py::test_user_data_of_the_largest_size_is_taken",
    ),
    _behaviour(
        "seen 2.1",
        "user data and keys reach ConfigDrive networks alone",
        "user data that is not in the payload is asked of the API",
        "tests/unit/cloudstack_ext/test_certify.py::test_user_data_is_asked_for_only_where_the_payload_has_none",
    ),
    _behaviour(
        "seen 2.2",
        "the instance's password is in the payload in clear",
        "kept as a secret, hashed in the seed",
        "tests/unit/cloudstack_ext/test_recorded_payloads.py::test_a_template_with_passwords_brings_one_that_no_repr_shows",
    ),
    _behaviour(
        "seen 2.3",
        "success to a Java class name does harm",
        "always a failure",
        "java class names fail",
    ),
    _elsewhere(
        "seen 2.4",
        "an offering with HA: CloudStack fails by itself and comes again",
        Kind.NOT_MET,
        "offerings of the plan never offer it",
        "seen 2.4: a ClassCastException whatever the extension ends with",
        "force.ha",
    ),
    _behaviour(
        "seen 2.5",
        "a NIC is added to a running instance by a Java class name",
        "refused; what was added while it was stopped is set at the next start",
        "java class names fail",
        "tests/unit/operations/test_start_and_delete.py::test_a_changed_address_needs_a_reseed_and_stops_nothing",
    ),
    _behaviour(
        "seen 2.6",
        "another offering brings other cpus and details to the next start",
        "details choose nothing; another size is refused",
        "an instance whose details were replaced is still known",
        "tests/unit/cloudstack_ext/test_certify.py::test_a_start_with_another_offering_is_refused_and_switches_nothing_on",
    ),
    _behaviour(
        "seen 2.7",
        "another owner: another MAC in the payload",
        "MACs are the binding's",
        "an instance whose mac and address changed starts",
    ),
    _behaviour(
        "seen 2.8",
        "another address in the next start",
        "recorded as needing a reseed, and started",
        "an instance whose mac and address changed starts",
        "tests/unit/operations/test_start_and_delete.py::test_a_changed_address_needs_a_reseed_and_stops_nothing",
    ),
    _elsewhere(
        "seen 2.10",
        "unregisterExtension with instances: Stopped without a call",
        Kind.NOT_MET,
        "`unregister` refuses while there are instances",
        "seen 2.10: no verb is sent any more",
    ),
    _elsewhere(
        "seen 2.11",
        "deleteHost by force: start and expunge fail inside the server",
        Kind.NOT_MET,
        "`unregister` never forces; reconciling names a host that is gone",
        "seen 2.11: no verb is sent any more",
    ),
    _behaviour(
        "seen 2.13",
        "deployed without a start: prepare and create come later",
        "nothing is claimed before",
        "create needs no prepare before it",
        "prepare answers the same when it is asked again",
    ),
    _behaviour(
        "seen 2.15",
        "an action's job is a success even when it failed",
        "a failure ends non-zero; names of verbs are no verbs",
        "a custom action that nobody made fails",
        "a custom action named like a verb is no verb",
    ),
    _behaviour(
        "seen 2.16",
        "primary storage on the cluster: Java class names",
        "always a failure",
        "java class names fail",
    ),
    _registration(
        "seen 2.17",
        "pathready is said at once, and a host added before stays unusable",
        "hosts wait for one full check",
        "path state",
        "host state",
    ),
    _behaviour(
        "seen 2.20",
        "stop arrives while create runs",
        "touches nothing until create has ended",
        "stop during create succeeds and the next create too",
        f"{_CALLERS}test_a_job_that_is_cancelled_ends_nothing_while_its_create_runs",
    ),
    _behaviour(
        "seen 2.22",
        "unknown until it is up heals all three",
        "that is what status says",
        "a cancelled job s create ends running",
        "a server killed in mid create loses nothing",
    ),
    _behaviour(
        "seen 6.4",
        "deleting a project deletes protected instances",
        "fenced and held without a wipe",
        "tests/unit/operations/test_turns.py::test_a_protected_instance_is_fenced_and_stays_un_wiped_until_its_hold_is_over",
    ),
    _behaviour(
        "read 2.12",
        "statuses is a whole ping's report",
        "every instance named, or a failure",
        "statuses names every instance or fails",
    ),
)

PITFALLS: Final = (*CONTRACT, *SEEN)


def page() -> str:
    """docs/pitfalls.md, which is written from here and never by hand."""
    count = {kind: sum(each.kind is kind for each in PITFALLS) for kind in Kind}
    counted = ", ".join(f"{number} {kind}" for kind, number in count.items())
    return f"""# Pitfalls of CloudStack's contract

Generated from `cloudstack_ext/conformance/pitfalls.py`; a test compares, and looks each name up.
Numbers are those of the contract's table; *seen* is a section of what was seen on a running server
4.22, *read* one of what was read from its source. A name in quotes is a check of
`rackwright cloudstack conformance`; a check of `verify` or a setting that it advises on stands in
code. {counted}.

## The contract's table

{_table(CONTRACT)}

## What was seen besides

What is new, refined or wrong there, and concerns an extension.

{_table(SEEN)}
"""


def _table(rows: Sequence[Pitfall]) -> str:
    head = "| | situation | verdict | what is done | by |\n|---|---|---|---|---|\n"
    return head + "\n".join(
        f"| {row.number} | {row.situation} | {row.kind} | {row.answer} | {_by(row)} |"
        for row in rows
    )


def _by(row: Pitfall) -> str:
    if row.kind is Kind.BEHAVIOUR:
        named = [f"`{each}`" if each.startswith(OWN) else f'"{each}"' for each in row.by]
    else:
        named = [f"`{each}`" for each in row.by]
    return "; ".join([*named, *filter(None, [row.source])])
