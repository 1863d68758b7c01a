"""What the server takes of `prepare`'s answer, with its sharp edges. Pure.

Source: seen 1 (a): the answer is merged into the instance's JSON, arrays by their `uuid`, which
in a NIC is the network's; then MAC and address are taken by nicUuid, and the details.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TAKEN = ("mac", "ip", "ip6address")
"""Of a NIC; `vncPassword`, `name`, `cpus` and all else in the answer is ignored (seen a.4)."""
UNPARSABLE = "Failed to parse VM"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What changes.

    Attributes:
        nics: What to set, by nicUuid.
        details: The whole set to save, the received one with the answer's over it; None where
            the answer was empty.
    """

    nics: Mapping[str, Mapping[str, str]]
    details: Mapping[str, str] | None


class UnparsableError(ValueError):
    """The answer is no JSON object: for the server a failure of prepare (seen a.6)."""


def merged(received: Mapping[str, Any], output: str) -> Prepared:
    """Read the answer.

    Args:
        received: `cloudstack.vm.details` as it was sent.
        output: All that was printed.

    Raises:
        UnparsableError: Also for an answer that began with a line of somebody's warning.
    """
    if not output.strip():
        return Prepared(nics={}, details=None)
    try:
        answer = json.loads(output)
    except (ValueError, RecursionError) as error:
        raise UnparsableError(UNPARSABLE) from error
    nics = answer.get("nics") if isinstance(answer, dict) else 0
    if not (nics is None or (isinstance(nics, list) and all(isinstance(n, dict) for n in nics))):
        raise UnparsableError(UNPARSABLE)
    after = _by_uuid(received.get("nics", []), nics or [])
    taken = {
        str(nic["nicUuid"]): {key: str(nic[key]) for key in TAKEN if nic.get(key)}
        for nic in after
        if nic.get("nicUuid")
    }
    details = answer.get("details")
    if not isinstance(details, dict):
        details = {}
    # a number is saved as text, and so is the copy of what the offering had (seen a.3)
    saved = {**received.get("details", {}), **{key: str(v) for key, v in details.items() if v}}
    return Prepared(nics=taken, details=saved)


def _by_uuid(
    received: Sequence[Mapping[str, Any]], answered: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """With a `uuid` in each they are merged, and two NICs of one network become one (seen a.2)."""
    if not answered or not all(nic.get("uuid") for nic in answered):
        return list(answered)
    by_network = {nic["uuid"]: dict(nic) for nic in received}
    for nic in answered:
        by_network[nic["uuid"]] = {**by_network.get(nic["uuid"], {}), **nic}
    return list(by_network.values())
