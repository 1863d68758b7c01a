"""What `--evidence` leaves behind of a change."""

import json

from provisioner.servers.operation import Status


def test_a_change_leaves_a_record_of_asked_done_checked_and_reached(rig):
    folder = rig.folder / "records"
    done = rig.run("server", "inspect", "bios1", "--evidence", str(folder))
    assert done.exit_code == 0
    (path,) = folder.iterdir()
    record = json.loads(path.read_text())
    assert record["signed"] is False
    assert record["asked"] == "inspect server bios1"
    assert record["done"]["text"] == "inspect of bios1 began" or record["done"]["operation"]
    # what was called is in the journal; an empty list would say that nothing was
    assert record["done"]["steps"] == [{"name": "off"}, {"name": "wipe"}]
    assert record["checked"] == "bios1 is ENROLLED, power unknown"
    assert record["state"]["operation"]["stages"]
    assert record["repeat"] == ["rackwright", "server", "show", "bios1", "--output", "json"]
    assert record["by"]["command"][-3:] == ["bios1", "--evidence", str(folder)]
    assert rig.run(*record["repeat"][1:]).exit_code == 0


def test_the_record_is_written_also_where_it_ended_badly(rig):
    rig.end_as = Status.CANCELLED
    folder = rig.folder / "records"
    done = rig.run("server", "inspect", "bios1", "--wait", "--evidence", str(folder))
    assert done.exit_code == 3
    (path,) = folder.iterdir()
    assert json.loads(path.read_text())["state"]["operation"]["status"] == "cancelled"


def test_a_dry_run_leaves_no_record(rig):
    folder = rig.folder / "records"
    rig.run("server", "inspect", "bios1", "--dry-run", "--evidence", str(folder))
    assert not folder.exists()


def test_an_older_record_is_never_replaced(rig):
    folder = str(rig.folder / "records")
    assert rig.run("pool", "put", "a", "--evidence", folder).exit_code == 0
    done = rig.run("pool", "put", "a", "--evidence", folder)
    failed_line = done.stderr
    assert (done.exit_code, "FILE_UNREADABLE" in failed_line) == (64, True)
