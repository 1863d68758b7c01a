import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioner.seed.validate import MOST_USER_DATA
from provisioner.seed.volume import VOLUME_BYTES, VolumeFullError, make_volume

FILES = {
    "meta-data": b"instance-id: x\n",
    "network-config": b"",
    "user-data": bytes(range(256)) * 3000,
    "vendor-data": b"#cloud-config\n" * 200,
}
SECTORS = pytest.mark.parametrize("sector_bytes", [512, 4096])


def _tool(*argv):
    return subprocess.run(argv, capture_output=True, check=True).stdout


@pytest.mark.emulated
@SECTORS
def test_dosfstools_finds_no_fault_and_mtools_reads_every_file(tmp_path, sector_bytes):
    image = tmp_path / "seed"
    image.write_bytes(make_volume(FILES, sector_bytes=sector_bytes))

    _tool("fsck.vfat", "-n", image)
    for name, content in FILES.items():
        assert _tool("mtype", "-i", image, f"::{name}") == content
    listed = _tool("mdir", "-b", "-i", image, "::").decode().split()
    assert sorted(listed) == [f"::/{name}" for name in FILES]


@pytest.mark.emulated
@SECTORS
def test_it_is_found_by_its_label(tmp_path, sector_bytes):
    image = tmp_path / "seed"
    image.write_bytes(make_volume(FILES, sector_bytes=sector_bytes))

    found = _tool("blkid", "-p", "-o", "export", image).decode().split("\n")

    assert {"LABEL=CIDATA", "TYPE=vfat", f"BLOCK_SIZE={sector_bytes}"} <= set(found)


@pytest.mark.emulated
def test_the_largest_user_data_fits(tmp_path):
    image = tmp_path / "seed"
    image.write_bytes(make_volume({**FILES, "user-data": b"x" * MOST_USER_DATA}))

    _tool("fsck.vfat", "-n", image)
    assert _tool("mtype", "-i", image, "::user-data") == b"x" * MOST_USER_DATA


@settings(max_examples=20)
@given(user_data=st.binary(max_size=9000))
def test_the_length_says_nothing_and_equal_files_give_equal_bytes(user_data):
    files = {**FILES, "user-data": user_data}

    assert len(make_volume(files)) == VOLUME_BYTES
    assert make_volume(files) == make_volume(files)


def test_what_does_not_fit_is_refused():
    with pytest.raises(VolumeFullError):
        make_volume({"user-data": b"x" * VOLUME_BYTES})
