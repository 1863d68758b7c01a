import json
import os
from dataclasses import asdict, replace

import pytest

from provisioner.errors import OperatorError
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


def put_on_record(folder, running):
    text = json.dumps({**asdict(running), "argv": ["nginx"]})
    (folder / "nginx.json").write_text(text)
    (folder / "nginx.log").write_text("no port\n")
    return Record(run=folder, logs=folder)


def test_who_waits_for_one_that_lives_looks_until_it_answers(tmp_path):
    record = put_on_record(tmp_path, Running.of(os.getpid()))
    answers = [True, False, False]

    record.wait_for("nginx", answers.pop, within_s=60.0)

    assert answers == []


def test_one_that_lives_and_is_silent_is_told_of_with_what_it_said_last(tmp_path):
    record = put_on_record(tmp_path, Running.of(os.getpid()))

    with pytest.raises(OperatorError, match="nginx does not answer within 0 s: no port"):
        record.wait_for("nginx", lambda: False, within_s=0.0)


def test_nobody_waits_for_one_that_has_ended(tmp_path):
    here = Running.of(os.getpid())
    record = put_on_record(tmp_path, replace(here, started=here.started + 1))

    with pytest.raises(OperatorError, match="nginx ended after its start: no port"):
        record.wait_for("nginx", lambda: pytest.fail("asked"), within_s=60.0)


def test_ending_another_process_with_the_same_number_is_impossible(tmp_path):
    here = Running.of(os.getpid())

    Running(pid=here.pid, started=here.started + 1, boot=here.boot).end()

    assert here.is_alive()


def test_the_last_line_of_a_silent_process_says_so(tmp_path):
    (tmp_path / "log").write_text("one\ntwo\n\n")

    assert last_line(tmp_path / "log") == "two"
    assert last_line(tmp_path / "none") == "it said nothing"
