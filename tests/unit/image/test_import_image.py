import asyncio
import gzip
import lzma
import os
import random
import subprocess
import uuid
from dataclasses import replace

import pytest

from provisioner.adapters.process import LocalProcesses
from provisioner.errors import ConflictError, ErrorCode, InputError, OperatorError
from provisioner.hardware.blocks import BLOCK_BYTES, BlockList
from provisioner.hardware.gpt import LINUX_FILE_SYSTEM, Partition, Table
from provisioner.image.confined import Confinement
from provisioner.image.import_image import Importer, Limits
from provisioner.testing.clock import FakeClock
from provisioner.units import Seconds

pytestmark = pytest.mark.emulated

MIB = 1 << 20
IMAGE_BYTES = 14 * MIB
DATA_AT = 9 * MIB


def _image(sector_bytes=512, last=None):
    table = Table.blank(disk_bytes=IMAGE_BYTES, sector_bytes=sector_bytes, guid=uuid.UUID(int=1))
    root = Partition(
        number=1,
        kind=LINUX_FILE_SYSTEM,
        guid=uuid.UUID(int=2),
        first=MIB // sector_bytes,
        last=last or table.last_usable,
        name="root",
    )
    content = bytearray(IMAGE_BYTES)
    for offset, piece in (*table.added(root).backup(), *table.added(root).primary()):
        content[offset : offset + len(piece)] = piece
    content[DATA_AT : DATA_AT + 5000] = random.Random(1).randbytes(5000)
    return bytes(content)


IMAGE = _image()


@pytest.fixture
def images(tmp_path):
    # nobody could not get in from above
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    return closed / "images"


@pytest.fixture
def importer(images):
    return Importer(images=images, processes=LocalProcesses(), clock=FakeClock())


def _take(importer, path, name="debian-12", reports=None):
    def report(note, done, total):
        if reports is not None:
            reports.append((note, done, total))

    async def run():
        with path.open("rb") as source:
            return await importer.import_image(source, name, report)

    return asyncio.run(run())


def _packed(tmp_path, kind, content=IMAGE):
    raw, packed = tmp_path / "raw", tmp_path / f"packed.{kind}"
    raw.write_bytes(content)
    if kind == "raw":
        return raw
    if kind == "qcow2":
        argv = ["qemu-img", "convert", "-q", "-f", "raw", "-O", "qcow2", raw, packed]
        subprocess.run(argv, check=True)
    elif kind == "zst":
        subprocess.run(["zstd", "-q", raw, "-o", packed], check=True)
    else:
        packed.write_bytes({"gz": gzip, "xz": lzma}[kind].compress(content))
    return packed


def _qcow2(tmp_path, *options):
    path = tmp_path / "odd.qcow2"
    argv = ["qemu-img", "create", "-q", "-f", "qcow2", *options, path, "64M"]
    subprocess.run(argv, check=True, cwd=tmp_path)
    return path


def _refused(importer, images, path, kind=InputError):
    with pytest.raises(kind) as raised:
        _take(importer, path)
    assert not images.exists() or list(images.iterdir()) == []
    return raised.value


@pytest.mark.parametrize(
    ("kind", "source_format"),
    [
        ("raw", "raw"),
        ("gz", "raw.gz"),
        ("xz", "raw.xz"),
        ("zst", "raw.zst"),
        ("qcow2", "qcow2"),
    ],
)
def test_every_format_becomes_the_same_image(tmp_path, images, importer, kind, source_format):
    record = _take(importer, _packed(tmp_path, kind))

    folder = images / "debian-12"
    assert record.folder == folder
    assert sorted(each.name for each in folder.iterdir()) == ["blocks.json", "image.raw"]
    assert (folder / "image.raw").read_bytes() == IMAGE
    blocks = BlockList.from_text((folder / "blocks.json").read_text())
    assert list(blocks.digests) == [0, 2, 3]
    assert (record.root, record.image_bytes) == (blocks.root, IMAGE_BYTES)
    assert record.data_bytes == 2 * BLOCK_BYTES + 2 * MIB
    assert record.block_bytes == BLOCK_BYTES
    assert record.logical_sector_bytes == 512
    assert record.source_format == source_format


@pytest.mark.parametrize("kind", ["raw", "zst", "qcow2"])
def test_the_files_are_ours_readable_by_the_web_server_and_sparse(tmp_path, images, importer, kind):
    record = _take(importer, _packed(tmp_path, kind))

    state = (record.folder / "image.raw").stat()
    assert (state.st_uid, state.st_mode & 0o777) == (os.geteuid(), 0o644)
    assert record.folder.stat().st_mode & 0o777 == 0o755
    assert state.st_blocks * 512 < IMAGE_BYTES
    assert [each.name for each in images.iterdir()] == ["debian-12"]


def test_a_table_for_4096_byte_sectors_is_recognised(tmp_path, importer):
    record = _take(importer, _packed(tmp_path, "raw", _image(4096)))

    assert record.logical_sector_bytes == 4096


def test_a_length_that_is_no_whole_sector_is_filled_up(tmp_path, importer):
    record = _take(importer, _packed(tmp_path, "raw", IMAGE + b"x" * 100))

    assert record.image_bytes == IMAGE_BYTES + 512


def test_the_same_bytes_again_are_the_same_image(tmp_path, images, importer):
    first = _take(importer, _packed(tmp_path, "zst"))
    again = _take(importer, _packed(tmp_path, "raw"))

    assert again.root == first.root
    assert [each.name for each in images.iterdir()] == ["debian-12"]


def test_a_name_never_gets_other_bytes(tmp_path, images, importer):
    _take(importer, _packed(tmp_path, "raw"))

    with pytest.raises(ConflictError) as raised:
        _take(importer, _packed(tmp_path, "raw", IMAGE[:-600] + b"y" * 600))

    assert raised.value.code is ErrorCode.IMAGE_EXISTS
    assert (images / "debian-12/image.raw").read_bytes() == IMAGE
    assert [each.name for each in images.iterdir()] == ["debian-12"]


@pytest.mark.parametrize("name", ["", "../x", "A", "a/b", "a" * 64, ".import-x"])
def test_a_name_that_is_none_is_refused(tmp_path, importer, name):
    with pytest.raises(InputError) as raised:
        _take(importer, _packed(tmp_path, "raw"), name)

    assert raised.value.code is ErrorCode.NAME_INVALID


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["-b", "raw", "-F", "raw"], ErrorCode.IMAGE_CLAIMS),
        (["-o", "data_file=outside.raw,data_file_raw=on"], ErrorCode.IMAGE_CLAIMS),
        ([], ErrorCode.IMAGE_FORMAT),
    ],
)
def test_a_qcow2_that_leads_outside_or_holds_nothing_is_refused(
    tmp_path, images, importer, options, code
):
    (tmp_path / "raw").write_bytes(IMAGE)

    assert _refused(importer, images, _qcow2(tmp_path, *options)).code is code


def test_an_encrypted_qcow2_is_refused(tmp_path, images, importer):
    path = _qcow2(tmp_path)
    with path.open("r+b") as file:  # qemu-img measures the processor to encrypt, and may fail
        file.seek(32)
        file.write((2).to_bytes(4, "big"))

    assert _refused(importer, images, path).code is ErrorCode.IMAGE_CLAIMS


def test_a_qcow2_larger_than_the_limit_is_refused_by_its_header(tmp_path, images, importer):
    path = tmp_path / "huge.qcow2"
    subprocess.run(
        ["qemu-img", "create", "-q", "-f", "qcow2", "-o", "cluster_size=2M", path, "4P"], check=True
    )

    assert _refused(importer, images, path).code is ErrorCode.IMAGE_TOO_LARGE


def test_a_damaged_qcow2_is_refused(tmp_path, images, importer):
    path = _packed(tmp_path, "qcow2")
    content = bytearray(path.read_bytes())
    content[65536:] = b"\xff" * (len(content) - 65536)
    path.write_bytes(content)

    assert _refused(importer, images, path).code is ErrorCode.IMAGE_CLAIMS


QCOW2_KINDS = [
    [],
    ["-o", "compat=0.10"],
    ["-o", "cluster_size=512"],
    ["-o", "cluster_size=2M"],
    ["-o", "extended_l2=on"],
    ["-o", "preallocation=metadata"],
    ["-c"],
    ["-c", "-o", "compression_type=zstd"],
]


def _converted(tmp_path, options):
    raw, packed = tmp_path / "raw", tmp_path / "converted.qcow2"
    raw.write_bytes(IMAGE + b"y" * 512)  # ends within a cluster
    argv = ["qemu-img", "convert", "-q", "-f", "raw", "-O", "qcow2", *options, raw, packed]
    subprocess.run(argv, check=True)
    return packed


@pytest.mark.parametrize("options", QCOW2_KINDS)
def test_a_whole_qcow2_of_any_kind_is_taken(tmp_path, images, importer, options):
    _take(importer, _converted(tmp_path, options))

    assert (images / "debian-12/image.raw").read_bytes() == IMAGE + b"y" * 512


@pytest.mark.parametrize("lost", [1, 513, 5000, 20_000])
@pytest.mark.parametrize("options", QCOW2_KINDS)
def test_a_qcow2_that_was_cut_off_is_refused(tmp_path, images, importer, options, lost):
    path = _converted(tmp_path, options)
    # before its last byte of data: what that may be followed by are zeros
    os.truncate(path, len(path.read_bytes().rstrip(b"\0")) - lost)

    error = _refused(importer, images, path)

    assert error.code is ErrorCode.IMAGE_CLAIMS
    assert "cut off" in error.brief


@pytest.mark.parametrize("kind", ["gz", "xz", "zst"])
def test_a_damaged_stream_is_refused(tmp_path, images, importer, kind):
    path = _packed(tmp_path, kind)
    path.write_bytes(path.read_bytes()[:-20])

    assert _refused(importer, images, path).code is ErrorCode.IMAGE_CLAIMS


@pytest.mark.parametrize("kind", ["raw", "gz", "zst", "qcow2"])
def test_an_image_larger_than_the_limit_is_refused(tmp_path, images, importer, kind):
    small = replace(importer, limits=Limits(image_bytes=IMAGE_BYTES - 1))

    assert _refused(small, images, _packed(tmp_path, kind)).code is ErrorCode.IMAGE_TOO_LARGE


def test_unpacking_that_takes_too_long_is_ended(tmp_path, images, importer):
    hasty = replace(importer, limits=Limits(unpacking=Seconds(0)))  # no machine is that quick

    assert _refused(hasty, images, _packed(tmp_path, "xz")).code is ErrorCode.IMAGE_TOO_LARGE


def test_a_qcow2_inside_a_stream_is_not_looked_into(tmp_path, images, importer):
    inner = _packed(tmp_path, "qcow2").read_bytes()
    path = tmp_path / "inner.gz"
    path.write_bytes(gzip.compress(inner))

    assert _refused(importer, images, path).code is ErrorCode.IMAGE_FORMAT


def test_an_image_that_was_cut_off_is_refused(tmp_path, images, importer):
    path = _packed(tmp_path, "raw", IMAGE[: IMAGE_BYTES // 2])

    error = _refused(importer, images, path)

    assert error.code is ErrorCode.IMAGE_CLAIMS
    assert "cut off" in error.brief


def test_a_table_with_a_wrong_checksum_is_refused(tmp_path, images, importer):
    path = _packed(tmp_path, "raw", IMAGE[:560] + b"x" + IMAGE[561:])

    assert _refused(importer, images, path).code is ErrorCode.IMAGE_CLAIMS


def test_a_pipe_is_no_image(tmp_path, importer):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    holder = os.open(pipe, os.O_RDWR)

    with pytest.raises(InputError) as raised:
        _take(importer, pipe)

    os.close(holder)
    assert raised.value.code is ErrorCode.FILE_UNREADABLE


def test_a_folder_that_cannot_be_used_is_the_operators_matter(tmp_path, importer):
    (tmp_path / "closed/images").write_text("")

    with pytest.raises(OperatorError) as raised:
        _take(importer, _packed(tmp_path, "raw"))

    assert raised.value.code is ErrorCode.IMAGE_BUILD


def test_progress_reaches_the_whole(tmp_path, importer):
    reports = []

    _take(importer, _packed(tmp_path, "zst"), reports=reports)

    assert reports[-1] == ("digests", IMAGE_BYTES, IMAGE_BYTES)


def test_a_cancelled_import_leaves_nothing(tmp_path, images, importer):
    path = _packed(tmp_path, "xz")

    async def run():
        with path.open("rb") as source:
            task = asyncio.create_task(importer.import_image(source, "x", lambda *_: None))
            while not images.exists() or not list(images.iterdir()):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    assert list(images.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has privileges to give up")
def test_the_child_has_no_privileges_no_network_and_limits(tmp_path):
    confined = Confinement(folder=tmp_path, file_bytes=1 << 20, cpu_s=5, is_root=True)
    script = "id -u; id -G; cat /proc/self/status; cat /proc/net/dev; ulimit -f; env"
    done = subprocess.run(
        confined.argv(["sh", "-c", script]), capture_output=True, text=True, check=True
    )

    assert done.stdout.startswith("65534\n65534\n")
    assert "CapEff:\t0000000000000000" in done.stdout
    assert "CapBnd:\t0000000000000000" in done.stdout
    assert "NoNewPrivs:\t1" in done.stdout
    assert [line.split(":")[0].strip() for line in done.stdout.splitlines() if "lo:" in line]
    assert "eth" not in done.stdout
    assert "\n2048\n" in done.stdout
    assert "LC_ALL=C" in done.stdout
