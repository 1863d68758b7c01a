import os

from provisioner.lab.processes import Record, Running, last_line


def test_a_process_is_known_by_more_than_its_number():
    here = Running.of(os.getpid())

    assert here.is_alive()
    assert not Running(pid=here.pid, started=here.started + 1, boot=here.boot).is_alive()
    assert not Running(pid=here.pid, started=here.started, boot="another").is_alive()


def test_no_process_has_no_identity():
    assert Running.of(2**22 + 1) is None


def test_a_broken_record_is_no_record(tmp_path):
    record = Record(run=tmp_path, logs=tmp_path)
    (tmp_path / "nginx.json").write_text('{"pid": 1')

    assert record.names() == ("nginx",)
    assert record.running("nginx") is None
    record.stop("nginx")
    record.stop("nginx")
    assert record.names() == ()


def test_ending_another_process_with_the_same_number_is_impossible(tmp_path):
    here = Running.of(os.getpid())

    Running(pid=here.pid, started=here.started + 1, boot=here.boot).end()

    assert here.is_alive()


def test_the_last_line_of_a_silent_process_says_so(tmp_path):
    (tmp_path / "log").write_text("one\ntwo\n\n")

    assert last_line(tmp_path / "log") == "two"
    assert last_line(tmp_path / "none") == "it said nothing"
