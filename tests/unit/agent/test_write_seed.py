import hashlib
import random
import subprocess
import uuid
from functools import cache

import pytest

from provisioner.agent.order import OrderFailedError
from provisioner.agent.write_seed import place_seed, write_seed
from provisioner.hardware.gpt import LINUX_FILE_SYSTEM, Partition, Table, read_table

MIB = 1 << 20
IMAGE_BYTES = 24 * MIB
DISK_BYTES = 36 * MIB
SECTOR = 512
HEADERS_BYTES = 34 * SECTOR
SEED = random.Random(5).randbytes(3 * MIB + 700)


@cache
def _noise():
    return random.Random(4).randbytes(DISK_BYTES)


@pytest.fixture
def disk(tmp_path):
    table = Table.blank(disk_bytes=IMAGE_BYTES, sector_bytes=SECTOR, guid=uuid.UUID(int=1))
    root = Partition(
        number=3,
        kind=LINUX_FILE_SYSTEM,
        guid=uuid.UUID(int=2),
        first=4096,
        last=table.last_usable,
        name="root",
    )
    content = bytearray(_noise())
    for offset, piece in (*table.added(root).backup(), *table.added(root).primary()):
        content[offset : offset + len(piece)] = piece
    path = tmp_path / "disk"
    path.write_bytes(content)
    return path


def _head(disk):
    with disk.open("rb") as file:
        return file.read(MIB)


def _differing(before, after):
    pieces = range(0, DISK_BYTES, SECTOR)
    return [at for at in pieces if before[at : at + SECTOR] != after[at : at + SECTOR]]


def test_only_headers_entries_and_its_own_partition_change(disk):
    before = disk.read_bytes()

    placed = place_seed(str(disk), SEED)

    after = disk.read_bytes()
    own = range(placed.start_bytes, placed.start_bytes + 4 * MIB)
    headers = (range(HEADERS_BYTES), range(DISK_BYTES - 33 * SECTOR, DISK_BYTES), own)
    assert all(any(at in each for each in headers) for at in _differing(before, after))
    assert after[:446] == before[:446]
    assert after[placed.start_bytes : placed.start_bytes + len(SEED)] == SEED


def test_the_partition_has_its_name_and_the_others_stay(disk):
    before = read_table(_head(disk), sector_bytes=SECTOR)

    placed = place_seed(str(disk), SEED)

    after = read_table(_head(disk), sector_bytes=SECTOR)
    assert after.partitions()[:-1] == before.partitions()
    assert after.partitions()[-1].name == "cidata"
    assert after.partitions()[-1].number == 4
    assert placed.partition == f"{disk}4"


def test_a_second_seed_takes_the_place_of_the_first(disk):
    place_seed(str(disk), SEED)
    again = place_seed(str(disk), SEED[:MIB])

    names = [each.name for each in read_table(_head(disk), sector_bytes=512).partitions()]
    assert names == ["root", "cidata"]
    assert again.partition == f"{disk}4"


def test_an_image_without_a_partition_table_is_refused_and_stays(disk):
    disk.write_bytes(b"\xa5" * DISK_BYTES)

    with pytest.raises(OrderFailedError) as raised:
        place_seed(str(disk), SEED)

    assert raised.value.code == "IMAGE_FORMAT"
    assert disk.read_bytes() == b"\xa5" * DISK_BYTES


def test_a_disk_without_room_behind_the_image_is_refused_and_stays(disk):
    with disk.open("r+b") as file:
        file.truncate(IMAGE_BYTES)
    before = disk.read_bytes()

    with pytest.raises(OrderFailedError) as raised:
        place_seed(str(disk), SEED)

    assert raised.value.code == "DISK_TOO_SMALL"
    assert disk.read_bytes() == before


@pytest.mark.parametrize("parameters", [{}, {"disk": [], "url": "x", "sha256": "", "bytes": 1}])
def test_a_malformed_order_is_named(parameters):
    with pytest.raises(OrderFailedError) as raised:
        write_seed(parameters, None)

    assert raised.value.code == "ORDER_MALFORMED"


@pytest.mark.emulated
def test_sgdisk_finds_no_fault_afterwards(disk):
    place_seed(str(disk), SEED)

    done = subprocess.run(["sgdisk", "-v", disk], capture_output=True, text=True, check=True)

    assert "No problems found" in done.stdout


@pytest.mark.rack
def test_on_a_real_block_device_the_kernel_sees_the_partition(disk):
    loop = subprocess.run(
        ["losetup", "-f", "-P", "--show", disk], capture_output=True, text=True, check=True
    ).stdout.strip()
    try:
        placed = place_seed(loop, SEED)
        assert placed.partition == f"{loop}p4"
        with disk.open("rb") as file:
            file.seek(placed.start_bytes)
            assert hashlib.sha256(file.read(len(SEED))).digest() == hashlib.sha256(SEED).digest()
    finally:
        subprocess.run(["losetup", "-d", loop], check=True)
