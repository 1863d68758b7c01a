"""9: nothing but the one runner of a server touches its controller or port.

Found in the text of the product: which modules make which calls. That conversations wait for each
other: tests/unit/operations/test_conversation.py.
"""

import ast
from pathlib import Path

import pytest

import provisioner

ROOT = Path(provisioner.__file__).parents[1]
FAKES_AND_LAB = ("provisioner/testing/", "provisioner/lab/", "cloudstack_ext/lab/")
PRODUCT = {
    where: path.read_text()
    for folder in ("provisioner", "cloudstack_ext")
    for path in (ROOT / folder).glob("**/*.py")
    if not (where := path.relative_to(ROOT).as_posix()).startswith(FAKES_AND_LAB)
}


def callers_of(name):
    """Modules that call a method of this name; adapters, which are called, left out."""
    found = set()
    for where, text in PRODUCT.items():
        if f".{name}(" not in text or where.startswith("provisioner/adapters/"):
            continue
        calls = (each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Call))
        names = {each.func.attr for each in calls if isinstance(each.func, ast.Attribute)}
        found |= {where} if name in names else set()
    return {where.removeprefix("provisioner/operations/") for where in found}


@pytest.mark.parametrize(
    ("call", "callers"),
    [
        ("reach_on", {"power_on.py"}),
        ("reach_off", {"power_steps.py", "quarantine.py"}),
        ("boot_from", {"boot_steps.py", "power_on.py", "power_steps.py"}),
        ("leave_nonce", {"boot_steps.py", "conversation.py"}),
        ("press", {"buttons.py"}),
        ("set_boot_once", {"conversation.py"}),
        ("stay_off", {"verification.py"}),
        ("withdraw", {"boot_steps.py"}),
        ("offer", {"boot_steps.py"}),
    ],
)
def test_only_steps_of_operations_change_anything_outside(call, callers):
    assert callers_of(call) == callers


def test_only_port_steps_move_a_port():
    moving = {where for where, text in PRODUCT.items() if "ports.place(" in text}
    assert moving == {"provisioner/operations/port_steps.py"}


WRITE_INTENTS = [
    "cloudstack_ext/verbs.py",
    "provisioner/operations/alarms.py",
    "provisioner/operations/desk_records.py",
    "provisioner/operations/desk_servers.py",
    "provisioner/operations/housekeeping.py",
    "provisioner/operations/machines.py",
]
OUTSIDE = ("conversation", "talk", "verification", "ports.network", "adapters")


@pytest.mark.parametrize("where", WRITE_INTENTS)
def test_verbs_operators_and_timers_know_no_way_to_a_controller_or_port(where):
    tree = ast.parse(PRODUCT[where])
    imported = {each.module or "" for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)}
    assert not [name for name in imported if name.endswith(OUTSIDE)]


def test_the_listeners_know_no_way_either():
    for where, text in PRODUCT.items():
        if where.startswith(("provisioner/service/", "provisioner/cli/")):
            assert "operations.conversation" not in text, where
            assert "ports.network" not in text, where
            assert "ports.controllers" not in text or where.endswith("openapi.py"), where


def test_the_power_loop_only_reads():
    text = PRODUCT["provisioner/operations/power_loop.py"]
    assert "talk.power(" in text
    for act in ("reach_", "boot_from", "stay_off", "nonce"):
        assert act not in text
