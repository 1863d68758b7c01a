import os

from provisioner.adapters.operation_files import OperationFiles


def test_folders_in_which_nothing_is_written_any_more_go(tmp_path):
    files = OperationFiles(tmp_path / "operations")
    assert files.forget(1000.0, ()) == 0
    for name, at in (("old", 500.0), ("open", 500.0), ("half", 500.0), ("young", 2000.0)):
        files.append(name, "console", b"x")
        for each in (tmp_path / "operations" / name / "console", tmp_path / "operations" / name):
            os.utime(each, (at, at))
    files.append("half", "agent.log", b"x")  # written a moment ago
    assert files.forget(1000.0, ("open",)) == 1
    assert sorted(each.name for each in files.folder.iterdir()) == ["half", "open", "young"]
    assert files.read("old", "console") == b""
