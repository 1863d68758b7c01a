"""The file with an API key: for one command, never kept."""

import stat
from pathlib import Path

from cloudstack_ext.api_key import ApiKey
from provisioner.cli.session import read_text
from provisioner.errors import ErrorCode, InputError
from provisioner.secret import Secret

KEYS = ("key", "secret")
EXPECTED = "two lines are expected: key = … and secret = …"


def read_api_key(path: Path) -> ApiKey:
    """Of `key = …` and `secret = …` lines, in a file that nobody else may read.

    Raises:
        InputError: FILE_UNREADABLE: not there, or group or others may read it. CLOUDSTACK_KEY:
            it holds something else.
    """
    text = read_text(path)
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) and mode & 0o077:
        text = f"{path}: others may read or change it; chmod 600 {path}, and make a new key"
        raise InputError(ErrorCode.FILE_UNREADABLE, text)
    found: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not equals or name not in KEYS or name in found or not value:
            raise InputError(ErrorCode.CLOUDSTACK_KEY, f"{path}: {EXPECTED}")
        found[name] = value
    if set(found) != set(KEYS):
        raise InputError(ErrorCode.CLOUDSTACK_KEY, f"{path}: {EXPECTED}")
    return ApiKey(key=found["key"], secret=Secret(found["secret"]))
