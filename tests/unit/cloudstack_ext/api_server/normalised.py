"""How our answers are compared with the recorded ones: what differs by nature, and why.

Everything that is not named here is equal.
"""

import re

from tests.unit.cloudstack_ext.api_server.recorded import UUID

REDACTED = "REDACTED"
ANY = {
    "lastpinged": "a moment of the ping task, of which the recording itself has 1970",
    "disconnected": "the recorded host had lost its agent once",
    "zonetoken": "made at random",
    "events": "the order of a Java set",
    "completed": "how long the real job took",
    "lastupdated": "whole seconds between the call and the job's end",
    "macaddress": "allocated",
    "ipaddress": "allocated",
    "lastserverstart": "of that machine",
    "lastserverstop": "of that machine",
    "lastboottime": "of that machine",
    "agentscount": "counts system VMs, which are not kept",
    "related": "which other commands have the same answer: not in the list of commands",
    "diskofferingid": "a disk offering is made with each offering, and not kept",
}
"""Any value, or none, on either side."""
ABSENT = {
    "gputotal": "GPU records are not kept",
    "gpuused": "GPU records are not kept",
    "gpugroup": "GPU records are not kept",
    "gpucardid": "GPU records are not kept",
    "gpucardname": "GPU records are not kept",
    "vgpuprofileid": "GPU records are not kept",
    "vgpuprofilename": "GPU records are not kept",
    "videoram": "GPU records are not kept",
    "isdefault": "of a user or an account that came with the installation",
}
"""Recorded, and not in our answers."""
COUNTED = re.compile(r"(limit|total|available)$|^vm(stopped|running)$")
"""Limits and counts of accounts and domains: they change nothing that an extension sees."""
COUNTED_IN = ("listAccounts", "listDomains")
CUT = {
    "allowedroletypes": "cut in the recording",
    "parameters": "cut in the recording",
    "params": "cut in the recording",
    "response": "cut in the recording; we have no descriptions of response fields",
    "lastagents": "cut in the recording; system VMs are not kept",
    "agents": "cut in the recording; system VMs are not kept",
    "valueoptions": "cut in the recording",
    "user": "our accounts have no users that came with the installation",
    "tags": "resource tags are not kept",
}
"""Lists of which the recorded part, or none of it, is in ours."""
NOT_COMPARED = ("response", "lastagents", "agents", "user", "tags")
ONCE = {
    ("updateTemplate_details", "hasannotations"): "missing in this answer, there in the other",
}
"""Of one recording alone."""
OUTSIDE_NAMES = {"description", "length"}
"""Of listApis: descriptions are shortened in the list, lengths are not in it."""


class Comparison:
    """Collects the differences of one answer; ids that only the recording knows are bound.

    Args:
        known: Ids that the state had from the beginning: they are equal on both sides.
    """

    def __init__(self, name, command, known):
        self.name = name
        self.command = command
        self.known = known
        self.bound = {}
        self.differences = []

    def of(self, recorded, ours, path=""):
        if recorded == REDACTED:
            return self
        if isinstance(recorded, dict) and isinstance(ours, dict):
            self._objects(recorded, ours, path)
        elif isinstance(recorded, list) and isinstance(ours, list):
            self._lists(recorded, ours, path)
        elif isinstance(recorded, str) and isinstance(ours, str):
            self._texts(recorded, ours, path)
        elif recorded != ours or type(recorded) is not type(ours):
            self.differences.append(f"{path}: {recorded!r} is {ours!r}")
        return self

    def _objects(self, recorded, ours, path):
        for name in sorted({*recorded, *ours}):
            if self._is_left_out(name, recorded, path):
                continue
            if name not in ours:
                self.differences.append(f"{path}.{name} is missing")
            elif name not in recorded:
                self.differences.append(f"{path}.{name} is not recorded")
            elif self._is_cut(recorded):
                if name != "count":
                    self._cut_list(recorded[name], ours[name], f"{path}.{name}")
            else:
                self.of(recorded[name], ours[name], f"{path}.{name}")

    def _is_left_out(self, name, recorded, path):
        return (
            name in ANY
            or (self.name, name) in ONCE
            or (name in ABSENT and name in recorded)
            or (self.command in COUNTED_IN and COUNTED.search(name) is not None)
            or (self.command == "listApis" and name in OUTSIDE_NAMES and "params" in path)
        )

    @staticmethod
    def _is_cut(recorded):
        """The recordings keep two to six elements of a list."""
        rows = [each for name, each in recorded.items() if name != "count"]
        return (
            "count" in recorded
            and len(rows) == 1
            and isinstance(rows[0], list)
            and len(rows[0]) < recorded["count"]
        )

    def _cut_list(self, recorded, ours, path):
        """Those that are recorded are ours too, in the same order."""
        places = []
        for row in recorded:
            names = [index for index, each in enumerate(ours) if each["name"] == row["name"]]
            if not names:
                self.differences.append(f"{path}: {row['name']} is missing")
                continue
            places.append(names[0])
            self.of(row, ours[names[0]], f"{path}.{row['name']}")
        if places != sorted(places):
            self.differences.append(f"{path}: another order")

    def _lists(self, recorded, ours, path):
        name = path.rpartition(".")[2]
        if name in NOT_COMPARED:
            return
        if name in CUT and len(recorded) <= len(ours):
            for index, each in enumerate(recorded):
                at = self._same(each, ours) if isinstance(each, dict) else None
                self.of(each, ours[index] if at is None else at, f"{path}.{index}")
            return
        if len(recorded) != len(ours):
            self.differences.append(f"{path}: {len(recorded)} are {len(ours)}")
            return
        for index, (theirs, mine) in enumerate(zip(recorded, ours, strict=True)):
            self.of(theirs, mine, f"{path}.{index}")

    @staticmethod
    def _same(wanted, rows):
        return next((row for row in rows if row.get("name") == wanted.get("name")), None)

    def _texts(self, recorded, ours, path):
        theirs, mine = UUID.findall(recorded), UUID.findall(ours)
        if UUID.sub("", recorded) != UUID.sub("", ours) or len(theirs) != len(mine):
            self.differences.append(f"{path}: {recorded!r} is {ours!r}")
            return
        for old, new in zip(theirs, mine, strict=True):
            wanted = old if old in self.known else self.bound.setdefault(old, new)
            if wanted != new:
                self.differences.append(f"{path}: {old} is {new}, not {wanted}")
