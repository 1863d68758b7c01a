"""Pools and images: put, imported, built, removed."""

from pathlib import Path

import pytest

from provisioner.errors import ConflictError, ErrorCode, OperatorError
from tests.unit.cli.rig import IMAGE, failed


def test_a_pool_is_put_and_shown(rig):
    words = ("pool", "put", "b", "--image", "ubuntu-24.04-cuda=tiny", "--wipe-methods", "2")
    assert rig.run(*words).exit_code == 0
    assert rig.json("pool", "show", "b")["pool"]["policy"]["wipe_methods"] == 2
    assert "ubuntu-24.04-cuda" in rig.run("pool", "show", "b").stdout
    assert "b" in rig.run("pool", "list").stdout
    assert len(rig.json("pool", "list")["pools"]) == 2


def test_a_wrong_pool_is_refused_by_the_service(rig):
    done = rig.run("pool", "put", "b", "--wipe-class", "hope")
    assert "--wipe-class" in failed(done, ErrorCode.PAYLOAD_FIELD, 64)


def test_an_image_is_imported_here_and_registered_there(rig):
    done = rig.run("image", "import", "/src.qcow2", "--name", "tiny")
    assert done.exit_code == 0, done.output
    assert done.stdout == f"tiny: 8.0 MiB, digest {IMAGE.root}\n"
    assert done.stderr == ""  # nobody watches
    assert rig.desk.image_map["tiny"] == IMAGE
    assert "8.0 MiB" in rig.run("image", "list").stdout
    assert rig.json("image", "show", "tiny")["image"]["root"] == IMAGE.root
    assert "1970-01-01 00:00:01Z" in rig.run("image", "show", "tiny").stdout


def test_an_import_that_nobody_watches_ends_with_one_line(rig):
    rig.desk.refuse = OperatorError(ErrorCode.DATABASE_BUSY, "not now")
    done = rig.run("image", "import", "/src.qcow2", "--name", "tiny")
    failed(done, ErrorCode.DATABASE_BUSY, 75)


@pytest.mark.parametrize(
    "words", [("import", "https://x/y", "--name", "a"), ("build", "tiny", "--out", "https://x/y")]
)
def test_an_address_is_no_file_and_is_shown_as_it_was_written(rig, words):
    assert "'https://x/y' is no file" in failed(rig.run("image", *words), ErrorCode.USAGE, 64)
    assert rig.calls == []


def test_bytes_that_a_name_does_not_stand_for_do_not_stay(rig):
    rig.desk.refuse = ConflictError(ErrorCode.IMAGE_EXISTS, "image tiny stands for other bytes")
    words = ("image", "import", "/src.qcow2", "--name", "tiny")
    assert rig.run(*words).stderr.endswith("IMAGE_EXISTS: image tiny stands for other bytes\n")
    assert rig.calls[-1] == ("remove", IMAGE.folder)


@pytest.mark.parametrize("code", [ErrorCode.PERMISSION, ErrorCode.DATABASE_BUSY])
def test_an_image_that_may_yet_be_told_stays(rig, code):
    rig.desk.refuse = OperatorError(code, "not now")
    assert rig.run("image", "import", "/src.qcow2", "--name", "tiny").exit_code > 0
    assert rig.calls[-1][0] == "import"


def test_an_image_is_taken_out_of_use_there_and_deleted_here(rig):
    rig.run("image", "import", "/src.qcow2", "--name", "tiny")
    folder = rig.folder / "records"
    done = rig.run("image", "remove", "tiny", "--evidence", str(folder))
    assert (done.exit_code, done.stdout) == (0, "tiny: removed\n")
    assert ("remove", IMAGE.folder) in rig.calls
    assert rig.desk.image_map == {}
    assert len(list(folder.iterdir())) == 1
    failed(rig.run("image", "remove", "tiny"), ErrorCode.IMAGE_UNKNOWN, 64)
    assert rig.calls.count(("remove", IMAGE.folder)) == 1


def test_an_image_is_built_by_its_name(rig):
    assert rig.run("image", "build", "tiny", "--out", "/o.raw").exit_code == 0
    assert ("build", "tiny", Path("/o.raw")) in rig.calls
    assert rig.json("image", "build", "tiny", "--out", "/o.raw")["file"] == "/o.raw"
    done = rig.run("image", "build", "windows", "--out", "/o.raw")
    failed(done, ErrorCode.IMAGE_UNKNOWN, 64)


def test_an_image_is_not_built_into_a_folder_that_is_not_there(rig):
    done = rig.run("image", "build", "tiny", "--out", str(rig.folder / "none" / "x.raw"))
    failed(done, ErrorCode.FILE_UNREADABLE, 64)
    assert rig.calls == []
