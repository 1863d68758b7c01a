from provisioner.lab.enclosure import closed_above


def test_the_topmost_closed_folder_above_a_path_is_named(tmp_path):
    closed = tmp_path / "home"
    path = closed / "cache" / "closed-too" / "venv"
    path.mkdir(parents=True)
    closed.chmod(0o700)
    (closed / "cache" / "closed-too").chmod(0o700)
    tmp_path.chmod(0o755)
    tmp_path.parent.chmod(0o755)
    tmp_path.parent.parent.chmod(0o755)

    assert closed_above(path) == closed


def test_an_open_path_needs_nothing():
    from pathlib import Path

    assert closed_above(Path("/usr/lib/python3.11")) is None
