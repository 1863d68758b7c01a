"""Pages that are generated are as the code says today."""

from pathlib import Path

import pytest

from provisioner import error_catalogue
from provisioner.errors import ErrorCode
from provisioner.servers import states_page

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("name", "page"), [("errors.md", error_catalogue.page), ("states.md", states_page.page)]
)
def test_generated_page_is_current(name, page):
    assert (DOCS / name).read_text() == page(), f"python -m tests.generate writes docs/{name}"


def test_every_code_has_cause_and_remedy():
    assert set(error_catalogue.CATALOGUE) == set(ErrorCode)
    assert all(cause and remedy for cause, remedy in error_catalogue.CATALOGUE.values())
