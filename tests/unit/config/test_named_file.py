import os

import pytest

from provisioner.errors import ErrorCode, InputError
from provisioner.named_file import open_named, read_named


@pytest.mark.parametrize("name", ["pipe", "folder", "none", "null", "to-pipe"])
def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "to-pipe").symlink_to(tmp_path / "pipe")
    for take in (open_named, read_named):
        with pytest.raises(InputError, match=str(tmp_path / name)) as caught:
            take(tmp_path / name)
        assert caught.value.code is ErrorCode.FILE_UNREADABLE


def test_a_regular_file_is_read_also_through_a_link(tmp_path):
    (tmp_path / "file").write_bytes(b"\xff\r\n")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_named(tmp_path / "link") == b"\xff\r\n"
    with open_named(tmp_path / "file") as file:
        assert file.read() == b"\xff\r\n"
