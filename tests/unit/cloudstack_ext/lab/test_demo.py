import pytest

from cloudstack_ext.lab.demo import Screen, going_on, main
from cloudstack_ext.lab.guest import must
from cloudstack_ext.lab.site import LabSite
from cloudstack_ext.lab.stages import Stage
from provisioner.cli.progress import moved_text
from provisioner.errors import OperatorError

WRITING = {"server": "bios1", "kind": "deploy", "note": "write", "progress_bytes": [1, 4]}
BOOTING = {"server": "uefi1", "kind": "deploy", "note": "", "progress_bytes": [0, 0]}


@pytest.mark.parametrize(
    ("operations", "shown"),
    [
        ([], ("waiting", 0, 0)),
        ([BOOTING], ("uefi1 deploy", 0, 0)),
        ([WRITING, BOOTING], ("bios1 deploy write and uefi1 deploy", 1, 4)),
        ([WRITING, WRITING], ("bios1 deploy write and bios1 deploy write", 2, 8)),
    ],
)
def test_what_goes_on_and_how_many_bytes_agents_have_acknowledged(operations, shown):
    assert going_on(operations) == shown


@pytest.mark.parametrize(
    ("done", "total", "text"),
    [
        (0, 0, ""),
        (2048, 0, "2.0 KiB"),
        (0, 2048, "0 B of 2.0 KiB"),
        (512, 1024, "512 B of 1.0 KiB"),
    ],
)
def test_a_bar_says_only_what_is_known_of_bytes(done, total, text):
    assert moved_text(done, total) == text


def test_a_word_that_the_demo_does_not_know_is_refused(capsys):
    assert main(["--slow"]) == 64
    assert capsys.readouterr().out == "USAGE: --slow: ./dev demo takes --quick, --keep and --yes\n"


def test_a_stage_says_what_was_seen_and_a_failed_one_that_it_failed(capsys):
    screen = Screen(site=LabSite.of({}, print))
    screen.show(Stage("prepare", lambda: "kept"))

    with pytest.raises(OperatorError, match="the host name"):
        screen.show(Stage("contents", lambda: str(must(False, "the host name"))))

    lines = capsys.readouterr().out.splitlines()
    assert [(line.split()[0], line.split()[-1]) for line in lines] == [
        ("prepare", "kept"),
        ("contents", "FAILED"),
    ]
    assert "contents" not in screen.table()
