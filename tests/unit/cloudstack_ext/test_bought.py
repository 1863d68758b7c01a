"""What was bought is known by ids that were registered, and by nothing a tenant can write."""

from dataclasses import replace

import pytest

from cloudstack_ext.bought import Told, bought, same_size
from provisioner.errors import RackwrightError
from provisioner.ports.registered import RegisteredRow

TOLD = Told(
    owner="ROOT/acme/alice",
    offering="o-1",
    offering_name="bm.h200",
    template="t-1",
    template_name="ubuntu",
    state="Starting",
)


def row(kind, outside_id, name, *, retired=False, **facts):
    return RegisteredRow(
        number=1,
        site="lab",
        kind=kind,
        name=name,
        outside_id=outside_id,
        facts=facts,
        retired=retired,
        at=0.0,
    )


ROWS = (
    row("offering", "o-1", "h200", pool="a"),
    row("offering", "o-0", "h200", retired=True, pool="a"),
    row("offering", "o-2", "l40s", pool="b"),
    row("template", "t-1", "ubuntu", image="ubuntu-24.04"),
    row("template", "t-0", "ubuntu", retired=True, image="ubuntu-22.04"),
    row("foreign-template", "t-9", "t-9", image="rocky"),
    row("template", None, "being made", image="x"),
)


def refusal(told=TOLD, **asked):
    with pytest.raises(RackwrightError) as refused:
        bought(told, ROWS, **{"pool": "a", "image": None, **asked})
    return str(refused.value)


@pytest.mark.parametrize(
    ("told", "image", "found"),
    [
        ({}, None, ("h200", "ubuntu-24.04")),
        ({}, "ubuntu-24.04", ("h200", "ubuntu-24.04")),
        ({"offering": "o-0"}, None, ("h200", "ubuntu-24.04")),
        ({"template": "t-0"}, None, ("h200", "ubuntu-22.04")),
        ({"template": "t-9"}, "rocky", ("h200", "rocky")),
    ],
)
def test_it_is_known_by_its_ids(told, image, found):
    made = bought(replace(TOLD, **told), ROWS, pool="a", image=image)
    assert (made.size, made.image) == found


def test_a_name_proves_nothing():
    assert "OFFERING_FOREIGN" in refusal(replace(TOLD, offering="x", offering_name="h200"))
    assert "TEMPLATE_FOREIGN" in refusal(replace(TOLD, template="x", template_name="ubuntu"))


def test_another_image_is_refused_with_both_named():
    said = refusal(image="rocky")
    assert said.startswith("IMAGE_DIFFERS")
    assert "rocky" in said
    assert "ubuntu-24.04" in said


def test_an_offering_of_another_pool_is_refused_with_both_named():
    said = refusal(replace(TOLD, offering="o-2"))
    assert said.startswith("POOL_DIFFERS")
    assert "pool b" in said
    assert refusal(pool=None).startswith("POOL_DIFFERS")


@pytest.mark.parametrize(
    ("offering", "size"), [("o-1", "h200"), ("o-0", "h200"), ("o-2", ""), ("x", "")]
)
def test_the_same_size_is_the_same_name_and_what_was_never_asked_is_anything(offering, size):
    same_size(replace(TOLD, offering=offering), ROWS, size=size)


@pytest.mark.parametrize(("offering", "named"), [("o-2", "l40s"), ("x", "not registered")])
def test_a_changed_size_is_refused_with_both_named(offering, named):
    with pytest.raises(RackwrightError, match="OFFERING_DIFFERS") as refused:
        same_size(replace(TOLD, offering=offering), ROWS, size="h200")
    assert "h200" in str(refused.value)
    assert named in str(refused.value)
