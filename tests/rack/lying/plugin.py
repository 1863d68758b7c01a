"""nbdkit plugin: a disk that lies, fails or is slow, in ranges that a file names.

    nbdkit -f -U SOCKET python plugin.py file=DISK rules=RULES [log=LOG]

RULES is JSON and read anew whenever it changes, so a disk can be turned while it runs; what is
told at connection (size, which commands there are) counts from the next power-on. Ranges are
[first byte, end) lists; whatever no rule names reaches the file.

    deaf_to_write   says success and keeps the old bytes
    deaf_to_zero    the same for write-zeroes (blkdiscard -z, NVMe format, ATA sanitize ...)
    deaf_to_trim    the same for discard
    fails_read      EIO (ENODATA behind NVMe)
    fails_write     EIO
    slow            [first byte, end, seconds]
    size            another size than the file's
    no_trim         true: discard is not offered
"""

import ctypes
import errno
import json
import os
import threading
import time
from pathlib import Path

import nbdkit

API_VERSION = 2
PUNCH_HOLE_KEEP_SIZE = 3
settings = {}
known = {"changed": None, "rules": {}}
writing_log = threading.Lock()
libc = ctypes.CDLL(None, use_errno=True)


def config(key, value):
    settings[key] = value


def config_complete():
    if "file" not in settings:
        raise RuntimeError("file=DISK is needed")


def thread_model():
    return nbdkit.THREAD_MODEL_PARALLEL


def rules():
    try:
        changed = Path(settings["rules"]).stat().st_mtime_ns
    except (KeyError, OSError):
        return known["rules"]
    if changed != known["changed"]:
        with Path(settings["rules"]).open() as file:
            known.update(rules=json.load(file), changed=changed)
    return known["rules"]


def touches(kind, offset, count):
    return any(first < offset + count and offset < end for first, end in rules().get(kind, ()))


def untouched(kind, offset, count):
    """The parts of a range that no rule of this kind names."""
    parts = [(offset, offset + count)]
    for first, end in rules().get(kind, ()):
        cut = ((begin, min(stop, first)) for begin, stop in parts)
        rest = ((max(begin, end), stop) for begin, stop in parts)
        parts = sorted((begin, stop) for begin, stop in (*cut, *rest) if begin < stop)
    return parts


def wait(offset, count):
    for first, end, seconds in rules().get("slow", ()):
        if first < offset + count and offset < end:
            time.sleep(seconds)


def fail_if(kind, offset, count):
    if touches(kind, offset, count):
        note(kind, offset, count)
        nbdkit.set_error(errno.EIO)
        raise OSError(errno.EIO, kind)


def note(what, offset, count):
    if "log" in settings:
        with writing_log, Path(settings["log"]).open("a") as file:
            file.write(f"{what} {offset} {count}\n")


def open(readonly):  # noqa: A001 nbdkit calls it so
    return os.open(settings["file"], os.O_RDONLY if readonly else os.O_RDWR)


def close(handle):
    os.close(handle)


def get_size(handle):
    return rules().get("size") or os.fstat(handle).st_size


def can_trim(handle):
    return not rules().get("no_trim")


def can_zero(handle):
    return True


def can_flush(handle):
    return True


def can_fua(handle):
    return nbdkit.FUA_EMULATE


def can_multi_conn(handle):
    return True


def pread(handle, buffer, offset, flags):
    wait(offset, len(buffer))
    fail_if("fails_read", offset, len(buffer))
    found = os.pread(handle, len(buffer), offset)
    buffer[:] = found + bytes(len(buffer) - len(found))


def pwrite(handle, buffer, offset, flags):
    wait(offset, len(buffer))
    fail_if("fails_write", offset, len(buffer))
    if touches("deaf_to_write", offset, len(buffer)):
        note("deaf_to_write", offset, len(buffer))
    for begin, stop in untouched("deaf_to_write", offset, len(buffer)):
        os.pwrite(handle, buffer[begin - offset : stop - offset], begin)


def trim(handle, count, offset, flags):
    punch("deaf_to_trim", handle, count, offset)


def zero(handle, count, offset, flags):
    fail_if("fails_write", offset, count)
    punch("deaf_to_zero", handle, count, offset)


def punch(rule, handle, count, offset):
    note(rule if touches(rule, offset, count) else rule.removeprefix("deaf_to_"), offset, count)
    for begin, stop in untouched(rule, offset, count):
        arguments = (ctypes.c_long(begin), ctypes.c_long(stop - begin))
        if libc.fallocate(handle, PUNCH_HOLE_KEEP_SIZE, *arguments):
            raise OSError(ctypes.get_errno(), "fallocate")


def flush(handle, flags):
    os.fdatasync(handle)
