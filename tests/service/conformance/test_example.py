"""The example passes, the example with one line changed fails where it should, a naive one fails.

What takes time is waiting, so several variants go at once.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from cloudstack_ext.conformance.model import CHECKS, Outcome
from cloudstack_ext.conformance.suite import chosen
from tests.service.conformance.judging import failed, judged
from tests.service.conformance.variants import CHANGES, EXAMPLE, changed

pytestmark = pytest.mark.emulated
NAIVE = EXAMPLE.parents[3] / "tests/service/conformance/naive.py"
AT_ONCE = 8
OTHERS_MOST = 2
LINES_MOST = 40
NAIVE_FAILS = 25


@pytest.fixture(scope="module")
def alone(nursery, tmp_path_factory):
    """Check -> what its variant makes of it, and of nothing else."""
    folder = tmp_path_factory.mktemp("a")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = {
            name: pool.submit(
                judged, changed(*CHANGES[name]), folder / str(number), nursery, chosen(name)
            )
            for number, name in enumerate(CHANGES)
        }
        return {name: each.result()[name] for name, each in running.items()}


@pytest.fixture(scope="module")
def of_variants(nursery, tmp_path_factory):
    """Change -> its results."""
    folder = tmp_path_factory.mktemp("v")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = {
            change: pool.submit(judged, changed(*change), folder / str(number), nursery)
            for number, change in enumerate(dict.fromkeys(CHANGES.values()))
        }
        return {change: each.result() for change, each in running.items()}


def test_the_example_has_forty_lines():
    lines = [line for line in EXAMPLE.read_text().split("\n") if line.strip()]
    code = [line for line in lines if not line.startswith(("import ", "from ", "#!", '"""'))]
    assert len(code) <= LINES_MOST


def test_the_example_passes_every_check(nursery, tmp_path):
    results = judged(EXAMPLE.read_text(), tmp_path / "example", nursery)
    assert {each.outcome for each in results.values()} == {Outcome.PASSED}
    assert len(results) == len(CHECKS)


def test_every_check_has_a_variant():
    assert set(CHANGES) == {each.name for each in CHECKS}


@pytest.mark.parametrize("name", CHANGES)
def test_one_changed_line_fails_its_check(alone, name):
    assert alone[name].outcome is Outcome.FAILED


@pytest.mark.rack_long  # each variant through the whole suite: minutes; needs no rack
@pytest.mark.parametrize("name", CHANGES)
def test_one_changed_line_fails_its_check_and_at_most_two_others(of_variants, name):
    results = of_variants[CHANGES[name]]
    fails = failed(results)
    assert name in fails
    assert len(fails - {name}) <= OTHERS_MOST, {each: results[each].detail for each in fails}


def test_a_naive_extension_fails_many(nursery, tmp_path):
    fails = failed(judged(NAIVE.read_text(), tmp_path / "naive", nursery))
    assert len(fails) >= NAIVE_FAILS, sorted(fails)
