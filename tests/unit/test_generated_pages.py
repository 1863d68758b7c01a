"""Pages that are generated are as the code says today."""

import pytest

from provisioner import error_catalogue
from provisioner.errors import ErrorCode, Kind
from tests.generate import DOCS, pages


@pytest.mark.parametrize(("name", "page"), pages().items())
def test_generated_page_is_current(name, page):
    assert (DOCS / name).read_text() == page, f"python -m tests.generate writes docs/{name}"


def test_every_code_has_cause_and_remedy():
    assert set(error_catalogue.CATALOGUE) == set(ErrorCode)
    assert all(cause and remedy for cause, remedy in error_catalogue.CATALOGUE.values())


def test_every_code_says_who_must_act():
    defects = [code for code in ErrorCode if code.kind is Kind.INTERNAL]
    assert defects == [ErrorCode.INTERNAL]
    assert {kind.exit_code for kind in Kind} == {64, 3, 4, 75, 1}


def test_what_is_unknown_is_unknown_in_one_way():
    unknown = [code for code in ErrorCode if code.endswith("_UNKNOWN") and code != "STEP_UNKNOWN"]
    assert len(unknown) == 10
    assert {code.kind for code in unknown} == {Kind.INPUT}
