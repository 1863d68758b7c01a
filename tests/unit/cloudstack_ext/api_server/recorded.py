"""The recorded answers, and the objects that they show."""

import json
import re
from datetime import datetime
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "data" / "cloudstack_api"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
KINDS = (
    "zone",
    "pod",
    "ostype",
    "extension",
    "cluster",
    "host",
    "extensioncustomaction",
    "template",
    "serviceoffering",
    "virtualmachine",
    "annotation",
    "project",
    "role",
)


def moment(text):
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z").timestamp()


def uuids(thing):
    return UUID.findall(json.dumps(thing))


@cache
def pairs():
    return {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}


def objects_in(thing):
    """Kind and object of everything that an answer shows."""
    if isinstance(thing, list):
        for each in thing:
            yield from objects_in(each)
    elif isinstance(thing, dict):
        for name, part in thing.items():
            rows = part if isinstance(part, list) else [part]
            for row in rows:
                if name in KINDS and isinstance(row, dict) and "id" in row:
                    yield name, row
            yield from objects_in(part)


@cache
def shown():
    """By id: the kind, and all that any answer shows of it."""
    found = {}
    for pair in pairs().values():
        for kind, row in objects_in([pair["answer"], pair.get("job_final", {})]):
            _kind, known = found.get(row["id"], (kind, {}))
            found[row["id"]] = (kind, {**row, **known})
    return found


@cache
def names_in_errors():
    """Numbers and names that only the texts of errors tell."""
    text = "\n".join(path.read_text().replace('\\"', '"') for path in FOLDER.glob("*.json"))
    numbers = {each[1]: int(each[0]) for each in re.findall(HOST_TEXT, text)}
    internal = {each[1]: each[0] for each in re.findall(INSTANCE_TEXT, text)}
    return numbers, internal


HOST_TEXT = r'\{"id":(\d+),"name":"[^"]*","type":"Routing","uuid":"([^"]*)"'
INSTANCE_TEXT = r'"instanceName":"([^"]*)"[^}]*"uuid":"([^"]*)"'


def every_network():
    """All networks that any NIC shows, by id."""
    return {
        nic["networkid"]: nic
        for kind, row in shown().values()
        if kind == "virtualmachine"
        for nic in row["nic"]
        if "isolationuri" in nic
    }
