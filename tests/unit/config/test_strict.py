import typing
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.errors import ErrorCode, InputError
from provisioner.secret import Secret
from provisioner.strict import between, matching, read

NewName = typing.NewType("NewName", str)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    least: int
    most: int = 10

    def contradictions(self) -> Iterator[str]:
        if self.least > self.most:
            yield "least: larger than most"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    name: Annotated[NewName, matching("[a-z]+", "a small word")]
    inner: Inner
    share: Annotated[float, between(0, 1)] = 0.5
    many: tuple[Inner, ...] = ()
    colours: frozenset[Colour] = frozenset()
    map: dict[str, int] = field(default_factory=dict)
    file: Path | None = None
    password: Secret | None = None
    flag: bool = False


GOOD = {"name": "abc", "inner": {"least": 1}}


def load(tree: object) -> Outer:
    return read(Outer, tree, code=ErrorCode.CONFIG_INVALID, source="t", folder=Path("/etc/r"))


def problems(tree: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(tree)
    return caught.value.detail.split("\n")


def test_a_tree_becomes_a_value_with_its_defaults():
    assert load(GOOD) == Outer(name=NewName("abc"), inner=Inner(least=1))


def test_every_kind_of_field_is_read():
    tree = GOOD | {
        "share": 1,
        "many": [{"least": 1}, {"least": 2, "most": 3}],
        "colours": ["red", "blue"],
        "map": {"a": 1},
        "file": "below/x",
        "password": "s3cret",
        "flag": True,
    }
    value = load(tree)
    assert value.share == 1.0
    assert isinstance(value.share, float)
    assert value.many[1] == Inner(least=2, most=3)
    assert value.colours == {Colour.RED, Colour.BLUE}
    assert value.map == {"a": 1}
    assert value.file == Path("/etc/r/below/x")
    assert value.password == Secret("s3cret")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"colour": 1}, "colour: unknown key"),
        ({"name": "ABC"}, "name: a small word is expected"),
        ({"name": 1}, "name: a text is expected"),
        ({"inner": {}}, "inner.least: missing"),
        ({"inner": {"least": 1, "other": 2}}, "inner.other: unknown key"),
        ({"inner": {"least": True}}, "inner.least: a whole number is expected"),
        ({"inner": {"least": 11}}, "inner.least: larger than most"),
        ({"inner": []}, "inner: a table is expected"),
        ({"many": [{"least": 1}, {"least": "x"}]}, "many[1].least: a whole number is expected"),
        ({"many": {}}, "many: a list is expected"),
        ({"colours": ["green"]}, "colours[0]: one of red, blue is expected"),
        ({"map": {"a": "b"}}, "map.a: a whole number is expected"),
        ({"share": 2.0}, "share: 0 to 1 is expected"),
        ({"share": float("nan")}, "share: 0 to 1 is expected"),
        ({"file": 1}, "file: a text is expected"),
        ({"file": ""}, "file: a text is expected"),
        ({"flag": 1}, "flag: true or false is expected"),
    ],
)
def test_each_problem_is_named_with_its_path(change, problem):
    assert problems(GOOD | change) == [problem]


def test_all_problems_come_at_once():
    tree = {"inner": {"least": "x", "other": 1}, "flag": 2, "beyond": 3}
    assert sorted(problems(tree)) == [
        "beyond: unknown key",
        "flag: true or false is expected",
        "inner.least: a whole number is expected",
        "inner.other: unknown key",
        "name: missing",
    ]


def test_a_secret_stands_in_no_problem():
    with pytest.raises(InputError) as caught:
        load({"password": "hunter2", "name": 1})
    assert "hunter2" not in f"{caught.value!r}{caught.value.detail}"


def test_a_document_that_is_no_table_is_refused():
    assert problems([]) == ["document: a table is expected"]


def test_the_line_stays_readable_however_many_problems_there_are():
    with pytest.raises(InputError) as caught:
        load({f"k{n}": n for n in range(5000)})
    assert caught.value.brief.endswith("and 4952 more")


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(trees | st.dictionaries(st.sampled_from(["name", "inner", "many", "map", "file"]), trees))
def test_no_tree_gives_anything_but_a_value_or_an_input_error(tree):
    with suppress(InputError):
        load(tree)
