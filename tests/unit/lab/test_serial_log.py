import pytest

from provisioner.errors import OperatorError
from provisioner.lab.serial_log import SerialLog


def test_only_what_came_after_the_mark_counts(tmp_path):
    log = SerialLog(tmp_path / "serial.log")
    assert log.mark() == 0
    assert log.text() == ""

    log.path.write_text("login: one\n")
    mark = log.mark()
    with log.path.open("a") as file:
        file.write("address=10.0.0.7\n")

    assert log.wait_for(r"address=(\S+)", since=mark, within_s=0)[1] == "10.0.0.7"
    with pytest.raises(OperatorError) as caught:
        log.wait_for("login", since=mark, within_s=0)
    assert "address=10.0.0.7" in caught.value.detail


def test_terminal_control_is_taken_away(tmp_path):
    log = SerialLog(tmp_path / "serial.log")
    log.path.write_bytes(b"\x1b[0m\x1b[2J\x1bcBooting\r\n\xff from disk\r\n")

    assert log.text() == "Booting\n\ufffd from disk\n"
    assert log.last_lines(1) == "\ufffd from disk"
