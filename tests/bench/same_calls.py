"""Calls of CloudStack's API by `cs` alone: nothing is planned, nothing is printed.

As a program: ENDPOINT, a file with `key = …` and `secret = …`, a file with the calls as JSON.
"""

import json
import sys
from pathlib import Path

import cs

endpoint, keys, calls = sys.argv[1:]
pairs = dict(line.split(" = ") for line in Path(keys).read_text().splitlines())
api = cs.CloudStack(endpoint=endpoint, key=pairs["key"], secret=pairs["secret"], method="post")
for command, parameters in json.loads(Path(calls).read_text()):
    getattr(api, command)(**parameters)
