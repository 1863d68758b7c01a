"""Brings an image in: the caller's file in, a folder with image.raw and blocks.json out.

The folder appears in one move, or not at all. What unpacks a foreign format is confined.
"""

import asyncio
import errno
import os
import re
import shutil
import signal
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import BinaryIO

from provisioner.errors import ConflictError, ErrorCode, InputError, OperatorError
from provisioner.hardware.blocks import BlockList
from provisioner.hardware.gpt import TableError, read_table
from provisioner.image.confined import Confinement, unpack_qcow2, unpack_stream
from provisioner.image.header import (
    HEAD_BYTES,
    SourceFormat,
    check_qcow2,
    format_of,
    logical_sector_bytes,
)
from provisioner.image.qcow2_tables import Layout, check_whole
from provisioner.image.raw_file import take_blocks
from provisioner.ports.catalogue import ImageRecord
from provisioner.ports.clock import Clock
from provisioner.ports.processes import Ended, Processes
from provisioner.units import ImageName, Seconds

Report = Callable[[str, int, int], None]
"""Takes what is done now, bytes done and bytes in all (0: not known); from any thread."""

IMAGE_FILE, BLOCKS_FILE = "image.raw", "blocks.json"
_PACKED_FILE = "packed"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_LOOK_EVERY = Seconds(0.5)
_COPY_BYTES = 4 << 20
_UNPACKING = Seconds(3600)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an image may cost.

    Attributes:
        image_bytes: As a raw disk.
        unpacking: Wall time of the tool that unpacks it, and its processor time.
    """

    image_bytes: int = 1 << 40
    unpacking: Seconds = _UNPACKING


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """Imports into one folder of blobs.

    Attributes:
        images: Each image has a folder of its own below it.
    """

    images: Path
    processes: Processes
    clock: Clock
    limits: Limits = Limits()

    async def import_image(self, source: BinaryIO, name: ImageName, report: Report) -> ImageRecord:
        """Take an image under a name; the same bytes under the same name again are no error.

        Args:
            source: A regular file, opened by or for whoever asked: its path says nothing here.
            name: New, or the same image's.
            report: Hears of progress.

        Raises:
            InputError: NAME_INVALID, IMAGE_FORMAT, IMAGE_CLAIMS, IMAGE_TOO_LARGE,
                FILE_UNREADABLE.
            ConflictError: IMAGE_EXISTS: the name belongs to other bytes.
            OperatorError: IMAGE_BUILD: the disk is full, a tool is not there.
        """
        if not _NAME.fullmatch(name):
            raise InputError(ErrorCode.NAME_INVALID, f"{name[:80]!r} is no name of an image")
        packed = _Packed.of(source.fileno())
        with _storage_errors(), _work_folder(self.images) as work:
            raw = os.open(work / IMAGE_FILE, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
            try:
                if packed.format is SourceFormat.RAW:
                    blocks = await self._take(packed.file, raw, report)
                else:
                    await self._unpack(packed, work, raw, report)
                    blocks = await self._take(raw, None, report)
                sector_bytes = _check_table(os.pread(raw, HEAD_BYTES, 0), blocks)
                os.fsync(raw)
            finally:
                os.close(raw)
            (work / BLOCKS_FILE).write_text(blocks.to_text())
            (work / _PACKED_FILE).unlink(missing_ok=True)
            folder = self._publish(work, name, blocks)
        return ImageRecord(
            name=name,
            root=blocks.root,
            image_bytes=blocks.image_bytes,
            data_bytes=blocks.data_bytes,
            block_bytes=blocks.block_bytes,
            logical_sector_bytes=sector_bytes,
            source_format=packed.format.value,
            imported_at=self.clock.wall(),
            folder=folder,
        )

    async def _take(self, source: int, into: int | None, report: Report) -> BlockList:
        """The blocks of a raw file, copied if they are not where they shall be."""
        length = os.fstat(source).st_size
        if length > self.limits.image_bytes:
            brief = f"the image has {length} bytes, {self.limits.image_bytes} are the limit"
            raise InputError(ErrorCode.IMAGE_TOO_LARGE, brief)
        sector_bytes = logical_sector_bytes(os.pread(source, HEAD_BYTES, 0))
        whole = -(-length // sector_bytes) * sector_bytes
        if into is None:
            os.ftruncate(source, whole)
        note = "digests" if into is None else "import"
        stop = Event()
        try:
            return await asyncio.to_thread(
                take_blocks,
                source,
                whole,
                into=into,
                done=lambda count: report(note, count, whole),
                stop=stop,
            )
        finally:
            stop.set()

    async def _unpack(self, packed: "_Packed", work: Path, raw: int, report: Report) -> None:
        """Let a confined child fill the raw file."""
        limits, layout, tool = self.limits, None, unpack_stream(_PACKED_FILE, IMAGE_FILE)
        if packed.format is SourceFormat.QCOW2:
            layout = check_qcow2(packed.head, most_bytes=limits.image_bytes)
            tool = unpack_qcow2(_PACKED_FILE, IMAGE_FILE)
            os.ftruncate(raw, layout.size)
        await asyncio.to_thread(_copy_plain, packed.file, work / _PACKED_FILE, layout)
        confined = Confinement(
            folder=work,
            # one byte more than is taken, so that too large is seen as such
            file_bytes=limits.image_bytes + 1,
            cpu_s=int(limits.unpacking) + 1,
            is_root=os.geteuid() == 0,
        )
        confined.give_output(raw)
        child = asyncio.create_task(self.processes.run(confined.argv(tool), limit=limits.unpacking))
        try:
            while not (await asyncio.wait([child], timeout=_LOOK_EVERY))[0]:
                report("unpack", os.fstat(raw).st_blocks * 512, 0)
            _check_ended(await child, packed.format)
        except TimeoutError as error:
            brief = f"unpacking took longer than {limits.unpacking:.0f} s"
            raise InputError(ErrorCode.IMAGE_TOO_LARGE, brief) from error
        finally:
            child.cancel()
            await asyncio.wait([child])
            confined.take_output(raw)

    def _publish(self, work: Path, name: ImageName, blocks: BlockList) -> Path:
        folder = self.images / name
        work.chmod(0o755)
        try:
            work.rename(folder)
        except OSError as error:
            if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                raise
            there = BlockList.from_text((folder / BLOCKS_FILE).read_text())
            if there.root != blocks.root:
                brief = f"the name {name} belongs to another image: import it under another one"
                raise ConflictError(ErrorCode.IMAGE_EXISTS, brief) from error
        return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class _Packed:
    """The caller's file.

    Attributes:
        file: Its descriptor.
    """

    file: int
    head: bytes
    format: SourceFormat

    @classmethod
    def of(cls, file: int) -> "_Packed":
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise InputError(ErrorCode.FILE_UNREADABLE, "an image is imported from a regular file")
        head = os.pread(file, HEAD_BYTES, 0)
        return cls(file=file, head=head, format=format_of(head))


def _check_table(head: bytes, blocks: BlockList) -> int:
    """The logical sector's length, of a table that fits into the image."""
    sector_bytes = logical_sector_bytes(head)
    try:
        table = read_table(head, sector_bytes=sector_bytes)
    except TableError as error:
        raise InputError(ErrorCode.IMAGE_CLAIMS, f"the image: {error}") from error
    for each in table.partitions():
        if not each.first <= each.last < blocks.image_bytes // sector_bytes:
            brief = f"partition {each.number} does not lie within the image: is it cut off?"
            raise InputError(ErrorCode.IMAGE_CLAIMS, brief)
    return sector_bytes


def _check_ended(ended: Ended, source_format: SourceFormat) -> None:
    if ended.status == 0:
        return
    words = ended.error.decode("utf-8", "replace").strip()
    if ended.status == -signal.SIGXFSZ or "File too large" in words:
        raise InputError(ErrorCode.IMAGE_TOO_LARGE, "the image is larger than the limit", words)
    if "No space left" in words:
        raise OperatorError(ErrorCode.IMAGE_BUILD, "no space left for the image", words)
    last = words.rpartition("\n")[2][:200] or f"status {ended.status}"
    brief = f"the {source_format.value} file cannot be unpacked: {last}"
    raise InputError(ErrorCode.IMAGE_CLAIMS, brief, words)


def _copy_plain(source: int, place: Path, layout: Layout | None) -> None:
    """The packed file, readable by the child; whole, where its layout says what that is."""
    at = 0
    with place.open("xb+") as file:
        while count := os.copy_file_range(source, file.fileno(), _COPY_BYTES, at):
            at += count
        if layout is not None:
            check_whole(file.fileno(), layout)
    place.chmod(0o644)


@contextmanager
def _work_folder(images: Path) -> Iterator[Path]:
    """A folder beside the images that is gone afterwards, unless it was moved."""
    images.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".import-", dir=images))
    # the child may go in by name and see nothing else
    work.chmod(0o711)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _storage_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, TimeoutError):
            raise
        brief = f"the folder of images cannot be used: {error.strerror or error}"
        raise OperatorError(ErrorCode.IMAGE_BUILD, brief) from error
