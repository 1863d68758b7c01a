"""Each verdict names what is there: checks of the suite, tests, checks of `verify`, settings."""

import re
from pathlib import Path

import pytest

from cloudstack_ext.conformance import suite  # noqa: F401 puts the checks into CHECKS
from cloudstack_ext.conformance.model import CHECKS
from cloudstack_ext.conformance.pitfalls import CONTRACT, ELSEWHERE_MOST, PITFALLS, page
from cloudstack_ext.conformance.verdicts.verdict import OWN, Kind, Pitfall
from cloudstack_ext.registration.settings import SettingName

ROOT = Path(__file__).parents[4]
IDS = [each.number for each in PITFALLS]
NAMES = {each.name for each in CHECKS}
VERIFY = (ROOT / "cloudstack_ext/registration/verify.py").read_text()


def is_there(pitfall: Pitfall, name):
    if pitfall.kind is Kind.BEHAVIOUR and name.startswith(OWN):
        path, _, test = name.partition("::")
        return bool(re.search(rf"^(async )?def {test}\(", (ROOT / path).read_text(), re.MULTILINE))
    if pitfall.kind is Kind.BEHAVIOUR:
        return name in NAMES
    settings = {each.value for each in SettingName} if pitfall.kind is not Kind.REGISTRATION else ()
    return f'"{name}"' in VERIFY or name in settings


def test_the_contract_s_fifty_are_all_here_once():
    assert [each.number for each in CONTRACT] == [str(number) for number in range(1, 51)]
    assert len(set(IDS)) == len(IDS)


@pytest.mark.parametrize("pitfall", PITFALLS, ids=IDS)
def test_what_a_verdict_names_is_there(pitfall):
    assert not [name for name in pitfall.by if not is_there(pitfall, name)]
    assert pitfall.by or pitfall.kind is Kind.NOT_MET


def test_few_are_left_to_others_each_with_its_source():
    elsewhere = [each for each in PITFALLS if each.kind in {Kind.SITE, Kind.NOT_MET}]
    assert 0 < len(elsewhere) <= ELSEWHERE_MOST
    assert all(each.source for each in elsewhere)


def test_a_name_that_is_nowhere_is_found():
    for kind, name in [
        (Kind.BEHAVIOUR, "no such check"),
        (Kind.BEHAVIOUR, "tests/service/conformance/test_example.py::test_nothing"),
        (Kind.REGISTRATION, "wait"),
        (Kind.SITE, "no.such.setting"),
    ]:
        assert not is_there(Pitfall(number="0", situation="", kind=kind, answer=""), name)


@pytest.mark.parametrize("each", CHECKS, ids=[each.name for each in CHECKS])
def test_a_check_and_the_table_say_the_same_of_each_other(each):
    rows = {pitfall.number for pitfall in PITFALLS if each.name in pitfall.by}
    assert set(each.pitfalls) & set(IDS) == rows
    assert each.pitfalls
    assert each.why


def test_the_page_is_current():
    assert (ROOT / "docs/pitfalls.md").read_text() == page()
