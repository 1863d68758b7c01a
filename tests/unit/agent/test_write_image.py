import hashlib
import random
import subprocess
from contextlib import closing

import pytest

from provisioner.agent.blob_reader import BlobReader
from provisioner.agent.block_copy import BlockCopy
from provisioner.agent.image_disk import opened
from provisioner.agent.image_orders import ImageOrder
from provisioner.agent.order import OrderFailedError
from provisioner.agent.write_image import EDGE_BYTES, check_zeros, write_image, write_to
from provisioner.hardware.blocks import BlockList
from provisioner.wipe.orders import DiskReference
from tests.unit.agent.blob_server import serving

pytestmark = pytest.mark.emulated

BLOCK = 64 << 10
DISK_BYTES = 40 << 20
DATA_BLOCKS = (0, 1, 2, 7, 12, 13, 31, 32)
IMAGE_BYTES = 32 * BLOCK + 1536


class Link:
    def __init__(self):
        self.reports = []
        self.lines = []
        self.server = None

    def progress(self, done_bytes, total_bytes, *, disk="", note=""):
        self.reports.append((done_bytes, total_bytes, note))

    def fetch(self, url, *, start=0, length=None):
        return self.server.blobs[url.removeprefix(self.server.url)]

    def journal(self, line):
        self.lines.append(line)


def _image():
    generator = random.Random(3)
    image = bytearray(IMAGE_BYTES)
    for number in DATA_BLOCKS:
        at = number * BLOCK
        length = min(BLOCK, IMAGE_BYTES - at)
        image[at : at + length] = generator.randbytes(length)
    digests = {
        number: hashlib.sha256(image[number * BLOCK : (number + 1) * BLOCK]).hexdigest()
        for number in DATA_BLOCKS
    }
    blocks = BlockList(image_bytes=IMAGE_BYTES, block_bytes=BLOCK, digests=digests)
    return bytes(image), blocks


IMAGE, BLOCKS = _image()


@pytest.fixture
def disk(tmp_path):
    path = tmp_path / "disk"
    path.write_bytes(b"\xa5" * DISK_BYTES)
    return path


@pytest.fixture
def server():
    blobs = {"/image.raw": IMAGE, "/blocks.json": BLOCKS.to_text().encode()}
    with serving(blobs) as server:
        yield server


@pytest.fixture
def link(server):
    link = Link()
    link.server = server
    return link


def _order(server, **changes):
    values = {
        "disk": DiskReference(serial="x", wwn=None, bytes=DISK_BYTES, model=None),
        "url": f"{server.url}/image.raw",
        "image_bytes": IMAGE_BYTES,
        "block_bytes": BLOCK,
        "blocks_url": f"{server.url}/blocks.json",
        "root": BLOCKS.root,
        "logical_sector_bytes": 512,
    }
    return ImageOrder(**{**values, **changes})


def _head(disk):
    with disk.open("rb") as file:
        return file.read(IMAGE_BYTES)


def _untouched(disk):
    return disk.read_bytes() == b"\xa5" * DISK_BYTES


def test_the_disk_reads_as_the_image_and_both_ends_of_the_rest_as_zeros(disk, server, link):
    written = write_to(str(disk), _order(server), link)

    content = disk.read_bytes()
    assert content[:IMAGE_BYTES] == IMAGE
    assert not content[IMAGE_BYTES : IMAGE_BYTES + EDGE_BYTES].strip(b"\0")
    assert not content[-EDGE_BYTES:].strip(b"\0")
    middle = content[IMAGE_BYTES + EDGE_BYTES : -EDGE_BYTES]
    assert middle == b"\xa5" * len(middle)
    assert written.blocks == len(DATA_BLOCKS)
    assert written.written_bytes == BLOCKS.data_bytes
    assert written.zeroed_bytes == IMAGE_BYTES - BLOCKS.data_bytes + 2 * EDGE_BYTES


def test_only_blocks_with_data_are_fetched_each_run_in_one_request(disk, server, link):
    write_to(str(disk), _order(server), link)

    asked = [(first, last) for _, first, last in server.requests]
    assert asked == [
        (0, 3 * BLOCK - 1),
        (7 * BLOCK, 8 * BLOCK - 1),
        (12 * BLOCK, 14 * BLOCK - 1),
        (31 * BLOCK, IMAGE_BYTES - 1),
    ]


def test_progress_rises_to_the_total_and_names_the_stage(disk, server, link):
    write_to(str(disk), _order(server), link)

    done = [each for each, _, _ in link.reports]
    totals = {each for _, each, _ in link.reports}
    assert done == sorted(done)
    assert totals == {done[-1]}
    assert list(dict.fromkeys(note for _, _, note in link.reports)) == [
        "zeros",
        "write",
        "read back",
    ]


def test_a_lost_connection_goes_on_at_the_byte(disk, server, link):
    server.cuts = [BLOCK + 1000, 10]

    write_to(str(disk), _order(server), link)

    assert _head(disk) == IMAGE
    assert [first for _, first, _ in server.requests[:3]] == [0, BLOCK + 1000, BLOCK + 1010]


def test_a_server_error_is_tried_again(disk, server, link):
    server.statuses = [503]

    write_to(str(disk), _order(server), link)

    assert _head(disk) == IMAGE


def test_a_block_that_came_wrong_once_is_fetched_again(disk, server, link):
    server.spoiled = {12 * BLOCK + 5: 1}

    write_to(str(disk), _order(server), link)

    assert _head(disk) == IMAGE
    assert server.requests[-1] == ("/image.raw", 12 * BLOCK, 13 * BLOCK - 1)


def test_a_block_that_stays_wrong_ends_the_order_and_is_never_written(disk, server, link):
    server.spoiled = {12 * BLOCK + 5: 9}

    with pytest.raises(OrderFailedError, match="block 12") as raised:
        write_to(str(disk), _order(server), link)

    assert raised.value.code == "IMAGE_DIGEST"
    assert _head(disk)[12 * BLOCK : 13 * BLOCK] == b"\xa5" * BLOCK


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"root": "0" * 64}, "IMAGE_DIGEST"),
        ({"image_bytes": IMAGE_BYTES + 512}, "IMAGE_DIGEST"),
        ({"block_bytes": BLOCK * 2}, "IMAGE_DIGEST"),
        ({"logical_sector_bytes": 4096}, "DISK_SECTOR_SIZE"),
    ],
)
def test_an_order_that_does_not_fit_touches_nothing(disk, server, link, changes, code):
    with pytest.raises(OrderFailedError) as raised:
        write_to(str(disk), _order(server, **changes), link)

    assert raised.value.code == code
    assert _untouched(disk)


def test_a_list_of_blocks_that_is_none_touches_nothing(disk, server, link):
    server.blobs["/blocks.json"] = b"<html>"

    with pytest.raises(OrderFailedError) as raised:
        write_to(str(disk), _order(server), link)

    assert raised.value.code == "IMAGE_DIGEST"
    assert _untouched(disk)


def test_a_disk_smaller_than_the_image_is_refused(disk, server, link):
    disk.write_bytes(b"\xa5" * BLOCK)

    with pytest.raises(OrderFailedError) as raised:
        write_to(str(disk), _order(server), link)

    assert raised.value.code == "DISK_TOO_SMALL"
    assert disk.read_bytes() == b"\xa5" * BLOCK


def test_a_missing_disk_is_a_failed_one(tmp_path, server, link):
    with pytest.raises(OrderFailedError) as raised:
        write_to(str(tmp_path / "none"), _order(server), link)

    assert raised.value.code == "DISK_FAILED"


@pytest.mark.parametrize("parameters", [{}, {"disk": 1}, {"disk": {"serial": "x"}, "url": 3}])
def test_a_malformed_order_is_named(link, parameters):
    with pytest.raises(OrderFailedError) as raised:
        write_image(parameters, link)

    assert raised.value.code == "ORDER_MALFORMED"


def test_a_missing_image_is_not_waited_for(disk, server, link):
    server.statuses = [404]

    with pytest.raises(OrderFailedError, match="404") as raised:
        write_to(str(disk), _order(server), link)

    assert raised.value.code == "BLOBS_UNREACHABLE"


def test_a_server_that_ignores_ranges_is_not_believed(server):
    server.statuses = [200]
    reader = BlobReader(f"{server.url}/image.raw")

    with closing(reader), pytest.raises(OrderFailedError) as raised:
        reader.fill(memoryview(bytearray(10)), 5, ahead=10)

    assert raised.value.code == "BLOBS_UNREACHABLE"


def test_silence_is_given_up_and_whoever_waits_is_asked(server):
    asked = []
    server.cuts = [0] * 9
    reader = BlobReader(f"{server.url}/image.raw", waiting=lambda: asked.append(1), silence_s=-1.0)

    with closing(reader), pytest.raises(OrderFailedError, match="nothing came") as raised:
        reader.fill(memoryview(bytearray(10)), 0, ahead=10)

    assert raised.value.code == "BLOBS_UNREACHABLE"


def test_a_closed_order_ends_the_waiting(server):
    def closed():
        raise OrderFailedError("EPOCH_DIFFERS", "closed")

    server.cuts = [0]
    reader = BlobReader(f"{server.url}/image.raw", waiting=closed)

    with closing(reader), pytest.raises(OrderFailedError) as raised:
        reader.fill(memoryview(bytearray(10)), 0, ahead=10)

    assert raised.value.code == "EPOCH_DIFFERS"


def test_an_https_blob_is_refused():
    with pytest.raises(OrderFailedError):
        BlobReader("https://127.0.0.1/image.raw")


def test_a_disk_that_kept_something_else_is_found_at_the_read_back(disk):
    changed = bytearray(IMAGE)
    changed[12 * BLOCK + 40_000] ^= 1
    with disk.open("r+b") as file:
        file.write(changed)

    with opened(str(disk)) as open_disk, pytest.raises(OrderFailedError) as raised:
        BlockCopy(BLOCKS, open_disk, str(disk)).read_back(lambda _: None)

    assert raised.value.code == "IMAGE_READ_BACK"
    assert "block 12" in raised.value.text


def test_a_disk_that_ignored_the_zeros_is_found(disk):
    with opened(str(disk)) as open_disk, pytest.raises(OrderFailedError) as raised:
        check_zeros(open_disk, str(disk), [(3 * BLOCK, 4 * BLOCK)], BLOCK)

    assert raised.value.code == "IMAGE_READ_BACK"


@pytest.mark.rack
def test_a_real_block_device_takes_zeros_by_its_own_command_and_one_in_use_is_refused(
    disk, server, link
):
    loop = subprocess.run(
        ["losetup", "-f", "--show", disk], capture_output=True, text=True, check=True
    ).stdout.strip()
    try:
        write_to(loop, _order(server), link)
        assert _head(disk) == IMAGE
        with opened(loop), pytest.raises(OrderFailedError, match="busy"):
            write_to(loop, _order(server), link)
    finally:
        subprocess.run(["losetup", "-d", loop], check=True)
