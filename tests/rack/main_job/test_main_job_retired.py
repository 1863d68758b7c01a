"""The last chapter: a server leaves the rack."""

import pytest

from tests.rack.main_job.service import planned

pytestmark = pytest.mark.rack


def test_quarantine_and_retirement_do_as_their_dry_runs_said(story):
    story.rest("uefi1")
    for word in ("quarantine", "retire"):
        said = ("server", word, "uefi1", "--reason", "the last chapter")
        plan = planned(story.site.ask(*said, "--dry-run"))
        assert plan
        story.site.command(*said)
        ended = story.service.wait_for_end("uefi1", word)
        assert ended["status"] == "done"
        assert story.service.calls_of(ended) == plan
    assert story.service.state("uefi1") == "RETIRED"
