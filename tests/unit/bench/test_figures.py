"""What is measured, how a figure holds its limit, and that the page says why it has one."""

import json

import pytest

from tests.bench import page
from tests.bench.__main__ import MEASURED
from tests.bench.figure import Run, alone, beside, table
from tests.generate import DOCS

BENCH = DOCS.parent / "tests" / "bench"
RECORDED = json.loads((DOCS / "performance.json").read_text())["figures"]


def test_every_module_with_figures_is_measured():
    with_figures = {
        file.stem for file in BENCH.glob("*.py") if "\ndef figures():" in file.read_text()
    }
    assert sorted(MEASURED) == sorted(with_figures)


@pytest.mark.parametrize(("most", "holds"), [(None, True), (3.0, True), (2.9, False)])
def test_each_value_must_keep_a_limit_at_the_most(most, holds):
    figure = alone("a figure", "s", Run(command="ours", values=[1.0, 3.0, 1.0]), most=most)
    assert (figure.holds, figure.value, figure.spread["value"]) == (holds, 1.0, [1.0, 3.0])
    assert ("DOES NOT HOLD" in next(table(figure))) is not holds


def test_a_figure_beside_its_peer_names_both_commands_and_their_ratio():
    ours, theirs = Run(command="ours", values=[3.0]), Run(command="theirs", values=[2.0, 2.0])
    figure = beside("a figure", "s", ours, "a peer", theirs, limit="ratio <= 1", holds=False)
    assert (figure.ratio, figure.n, figure.command, figure.peer_command) == (
        1.5,
        1,
        "ours",
        "theirs",
    )
    assert "  peer: theirs" in list(table(figure))


@pytest.mark.parametrize(
    "figure", [each for each in RECORDED if each["limit"]], ids=lambda each: each["name"]
)
def test_the_page_names_each_limit_and_where_it_comes_from(figure):
    run = {"machine": {}, "figures": [figure]}
    line = f"* {figure['name']}: {figure['limit']}. Because {page.why(figure['name'])}."
    assert line in page.page(run).splitlines()
