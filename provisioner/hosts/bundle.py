"""A host's texts in one file, read with care: it may come from anybody. Pure.

A tar, plain or gzip, of regular files alone; its form: docs/adr/0020. Nothing is unpacked to a
disk. Every problem is found in one go.
"""

import hashlib
import io
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from provisioner.errors import ErrorCode, InputError
from provisioner.strict import refused
from provisioner.units import WallSeconds

FORM: Final = "rackwright-host-bundle"
VERSION: Final = 1
MOST_BYTES: Final = 8 * 1024 * 1024
"""Of the file as it comes; a host with 300 PCI functions makes 0.3 MiB."""
MOST_UNPACKED: Final = 64 * 1024 * 1024
MOST_MEMBERS: Final = 1000
_MEMBER: Final = re.compile(
    r"(?:\./)?(?:(files|links|commands)/)?([A-Za-z0-9][A-Za-z0-9_.+-]{0,99})"
)
_FOLDER: Final = re.compile(r"\.?|(?:\./)?(?:files|links|commands)")
_FILE: Final = re.compile(rb"(?:\A|\n)==> (/[^\n]{1,1000}) <==\n")
_LINK: Final = re.compile(r"(/.{1,1000}?) -> (.{1,1000})")
_UIDS: Final = re.compile(r"[0-9]{1,10}")
_SECONDS: Final = re.compile(r"[0-9]{1,11}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandText:
    """What a command printed.

    Attributes:
        status: How it ended; None: the host has no such command.
    """

    output: str = ""
    errors: str = ""
    status: int | None = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """All texts of one host at one time.

    Attributes:
        sha256: Of the file as it came.
        uid: Of who made it: what only root may read is missing in other people's.
        files: Content by absolute path on the host.
        links: Targets as the links have them, by absolute path.
    """

    sha256: str
    taken_at: WallSeconds
    uid: int
    files: Mapping[str, bytes]
    links: Mapping[str, str]
    commands: Mapping[str, CommandText]


@dataclass(slots=True)
class _Reading:
    problems: list[str] = field(default_factory=list)
    head: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, bytes] = field(default_factory=dict)


def read_bundle(content: bytes, *, source: str) -> Bundle:
    """The bundle.

    Args:
        content: Of the file.
        source: Its name, for the error's line.

    Raises:
        InputError: BUNDLE_INVALID, with all problems.
    """
    reading = _Reading()
    for name, body in _members(_unpacked(content, source), source, reading.problems):
        _take(reading, name, body)
    taken_at, uid = _head(reading)
    commands = _commands(reading)
    if reading.problems:
        raise refused(reading.problems, code=ErrorCode.BUNDLE_INVALID, source=source)
    return Bundle(
        sha256=hashlib.sha256(content).hexdigest(),
        taken_at=taken_at,
        uid=uid,
        files=reading.files,
        links=reading.links,
        commands=commands,
    )


def _refused(source: str, text: str) -> InputError:
    return InputError(ErrorCode.BUNDLE_INVALID, f"{source}: {text}")


def _unpacked(content: bytes, source: str) -> bytes:
    if len(content) > MOST_BYTES:
        raise _refused(source, f"larger than {MOST_BYTES} bytes")
    if not content.startswith(b"\x1f\x8b"):
        return content
    engine = zlib.decompressobj(wbits=31)
    try:
        plain = engine.decompress(content, MOST_UNPACKED)
    except zlib.error as error:
        raise _refused(source, "the gzip is damaged") from error
    if engine.unconsumed_tail:
        raise _refused(source, f"unpacked it is larger than {MOST_UNPACKED} bytes")
    if not engine.eof:
        raise _refused(source, "it is cut off: make it anew")
    return plain


def _members(plain: bytes, source: str, problems: list[str]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each regular file with a name that we know."""
    try:
        with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as tar:
            for count, member in enumerate(tar, start=1):
                if count > MOST_MEMBERS:
                    problems.append(f"more than {MOST_MEMBERS} members")
                    return
                yield from _regular(tar, member, problems)
    except (tarfile.TarError, EOFError, ValueError, OverflowError, OSError) as error:
        raise _refused(source, "no tar, or one that is cut off: make it anew") from error


def _regular(
    tar: tarfile.TarFile, member: tarfile.TarInfo, problems: list[str]
) -> Iterator[tuple[str, bytes]]:
    shown = ascii(member.name[:100])
    if member.isdir():
        if not _FOLDER.fullmatch(member.name):
            problems.append(f"{shown}: a folder that is none of a bundle's")
    elif not _MEMBER.fullmatch(member.name):
        problems.append(f"{shown}: a name that is none of a bundle's")
    elif not member.isreg() or member.sparse:
        problems.append(f"{shown}: regular files are expected, no links, devices or pipes")
    else:
        file = tar.extractfile(member)
        assert file is not None
        body = file.read()
        if len(body) != member.size:
            problems.append(f"{shown}: cut off")
        yield member.name.removeprefix("./"), body


def _take(reading: _Reading, name: str, body: bytes) -> None:
    folder, _, last = name.rpartition("/")
    if folder == "files":
        _take_files(reading, name, body)
    elif folder == "links":
        _take_links(reading, name, body)
    elif folder == "commands":
        if last in reading.outputs:
            reading.problems.append(f"{name}: there twice")
        reading.outputs[last] = body
    elif name == "bundle" and not reading.head:
        for line in body.decode("utf-8", "replace").splitlines():
            key, _, value = line.partition(" ")
            reading.head[key] = value.strip()
    else:
        reading.problems.append(f"{name}: unknown, or there twice")


def _take_files(reading: _Reading, name: str, body: bytes) -> None:
    """What `head -v` prints: a line with the path before each file."""
    heads = list(_FILE.finditer(body))
    if body.strip() and (not heads or body[: heads[0].start()].strip()):
        reading.problems.append(f"{name}: `==> /PATH <==` is expected before the first file")
    ends = [*(each.start() for each in heads[1:]), len(body)]
    for head, end in zip(heads, ends, strict=False):
        path = head[1].decode("utf-8", "replace")
        if path in reading.files:
            reading.problems.append(f"{name}: {path!a} is there twice")
        reading.files[path] = body[head.end() : end]


def _take_links(reading: _Reading, name: str, body: bytes) -> None:
    for number, line in enumerate(body.decode("utf-8", "replace").splitlines(), start=1):
        match = _LINK.fullmatch(line)
        if match is None:
            reading.problems.append(f"{name}, line {number}: `/PATH -> TARGET` is expected")
        else:
            reading.links[match[1]] = match[2]


def _head(reading: _Reading) -> tuple[WallSeconds, int]:
    version, at = reading.head.get(FORM, ""), reading.head.get("taken_at", "")
    uid = reading.head.get("uid", "")
    if version != str(VERSION):
        expected = f"`{FORM} {VERSION}` is expected in its file `bundle`"
        reading.problems.append(f"bundle: {expected}, {version[:40]!a} is there")
    if not _SECONDS.fullmatch(at):
        reading.problems.append("bundle: `taken_at SECONDS` is expected, seconds since 1970")
    if not _UIDS.fullmatch(uid):
        reading.problems.append("bundle: `uid NUMBER` is expected, of who made it")
    if reading.problems:
        return WallSeconds(0), 0
    return WallSeconds(float(at)), int(uid)


def _commands(reading: _Reading) -> dict[str, CommandText]:
    """Output, complaints and status lie in files of their own; the latter two may be missing."""
    found = {}
    for name in sorted({_command_of(each) for each in reading.outputs}):
        said = reading.outputs.get(f"{name}.status", b"0").decode("ascii", "replace").strip()
        if said != "missing" and not re.fullmatch(r"[0-9]{1,3}", said):
            reading.problems.append(f"commands/{name}.status: a number or `missing` is expected")
            said = "1"
        found[name] = CommandText(
            output=reading.outputs.get(name, b"").decode("utf-8", "replace"),
            errors=reading.outputs.get(f"{name}.errors", b"").decode("utf-8", "replace"),
            status=None if said == "missing" else int(said),
        )
    return found


def _command_of(member: str) -> str:
    return member.removesuffix(".status").removesuffix(".errors")
