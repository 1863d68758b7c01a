"""Pitfalls of the extension, its hosts, the offerings and the site's settings. Pure."""

from collections.abc import Sequence
from typing import Final

from cloudstack_ext.conformance.verdicts.verdict import (
    Kind,
    Pitfall,
    behaviour,
    elsewhere,
    registration,
)

REGISTRATION: Final[Sequence[Pitfall]] = (
    registration(
        "17",
        "the entry is gone for some minutes: all instances Stopped without a call",
        "placed by atomic rename only, and looked at on each server",
        "entry",
        "path state",
    ),
    registration(
        "18",
        "a Disabled extension: no stop, no delete; but status goes on (seen h)",
        "said to be bad",
        "extension state",
    ),
    elsewhere(
        "26",
        "wait and commands.timeout hold for all hypervisors",
        Kind.SITE,
        "advice with the reason and whether a restart is needed; changed with --settings only",
        "read 1.4: global settings, read once at the start of the server",
        "wait",
        "commands.timeout",
    ),
    behaviour(
        "27",
        "maintenance of a host stops the whole pool",
        "a stop like any other, and `verify` warns; a single server is never put into it",
        "maintenance of its host and back",
    ),
    elsewhere(
        "28",
        "deleteHost: Stopped without a call, start and expunge fail for ever",
        Kind.NOT_MET,
        "`unregister` refuses while there are instances; reconciling names a host that is gone",
        "seen 2.11: no verb is sent, and the planner fails inside the server",
    ),
    elsewhere(
        "29",
        "a Disabled host still gets its own restarts",
        Kind.NOT_MET,
        "a start that is sent is done; `verify` warns of the host's state",
        "seen p: the last host is taken without a look at its state, and no payload tells it",
    ),
    registration(
        "30",
        "two hosts of one label collide",
        "a label twice in the file is refused before any call",
        "plan",
    ),
    registration(
        "31",
        "a host that was added too early is never ready",
        "hosts are added after one full check; one that is not Up is told to be reconnected",
        "host state",
        "path state",
    ),
    registration(
        "32",
        "only the entry file's checksum is compared",
        "the entry is one file with a constant content; its configuration is looked at too",
        "entry",
        "entry configuration",
    ),
    elsewhere(
        "44",
        "high availability",
        Kind.SITE,
        "offerings of the plan never offer it; `force.ha` is advised on",
        "seen 2.4: fails inside the server whatever is answered, and comes again",
        "force.ha",
    ),
    registration(
        "45",
        "a GPU profile in an offering ends the pings of a host",
        "never in the plan; one with our tag is said to be bad",
        "offering",
    ),
    registration(
        "seen j",
        "a stopped instance with a GPU profile blinds its host, and cannot be expunged",
        "never in the plan; one with our tag is said to be bad",
        "offering",
    ),
    elsewhere(
        "seen p",
        "maintenance of a host with instances ends in ErrorInMaintenance",
        Kind.NOT_MET,
        "`verify` says never to do it, and shows the host's state",
        "seen p: the server's own state, while all stops succeed",
        "maintenance",
    ),
    elsewhere(
        "seen 2.4",
        "an offering with HA: CloudStack fails by itself and comes again",
        Kind.NOT_MET,
        "offerings of the plan never offer it",
        "seen 2.4: a ClassCastException whatever the extension ends with",
        "force.ha",
    ),
    elsewhere(
        "seen 2.10",
        "unregisterExtension with instances: Stopped without a call",
        Kind.NOT_MET,
        "`unregister` refuses while there are instances",
        "seen 2.10: no verb is sent any more",
    ),
    elsewhere(
        "seen 2.11",
        "deleteHost by force: start and expunge fail inside the server",
        Kind.NOT_MET,
        "`unregister` never forces; reconciling names a host that is gone",
        "seen 2.11: no verb is sent any more",
    ),
    registration(
        "seen 2.17",
        "pathready is said at once, and a host added before stays unusable",
        "hosts wait for one full check",
        "path state",
        "host state",
    ),
)
