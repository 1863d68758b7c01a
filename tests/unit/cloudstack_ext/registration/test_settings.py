"""Which settings of CloudStack are advised upon, by their values."""

import pytest

from cloudstack_ext.registration.settings import SettingName, advice
from provisioner.units import Seconds

ANSWER_WITHIN = Seconds(1440.0)
DENIED = "deployvm,External:pool,External:image,External:rackwright"
WELL = {
    "start.retry": "10",
    "wait": "1800",
    "commands.timeout": "",
    "job.cancel.threshold.minutes": "60",
    "force.ha": "false",
    "expunge.delay": "86400",
    "expunge.interval": "86400",
    "user.vm.denied.details": DENIED,
}


def advised(**changed):
    values = WELL | {name.replace("_", "."): value for name, value in changed.items()}
    return {each.name.value: each for each in advice(values, answer_within=ANSWER_WITHIN)}


def test_where_all_is_well_there_is_none():
    assert set(WELL) == {each.value for each in SettingName}
    assert advised() == {}


@pytest.mark.parametrize(
    ("name", "value", "better"),
    [
        ("start.retry", "0", "10"),
        ("start.retry", "3", "4"),
        ("start.retry", "4", None),
        ("wait", "599", "1800"),
        ("wait", "600", None),
        ("commands.timeout", "StopCommand=60", ""),
        ("commands.timeout", "StopCommand=300, StartCommand=299", ""),
        ("commands.timeout", "StopCommand=300", None),
        ("commands.timeout", "VmDataCommand=5", None),
        ("job.cancel.threshold.minutes", "30", "60"),
        ("job.cancel.threshold.minutes", "31", None),
        ("job.cancel.threshold.minutes", "0", None),
        ("force.ha", "True", "false"),
        ("expunge.delay", "86401", "86400"),
        ("expunge.interval", "172800", "86400"),
        ("user.vm.denied.details", "", DENIED),
        ("user.vm.denied.details", "rootdisksize, deployvm", f"rootdisksize,{DENIED}"),
    ],
)
def test_each_has_its_bound(name, value, better):
    found = advised(**{name: value})
    if better is None:
        assert name not in found
        return
    assert found[name].value == value
    if name == "user.vm.denied.details":
        assert set(found[name].better.split(",")) == set(better.split(","))
    else:
        assert found[name].better == better
    assert found[name].why


def test_retries_times_our_deadline_outlast_the_longest_deployment_whatever_wait_is():
    # a create answers at 80 % of wait: two hours are twelve of 600 s, the first is no retry
    assert advised(wait="750")["start.retry"].better == "11"
    assert "start.retry" not in advised(wait="750", start_retry="11")
    # never longer than our own deadline, however long CloudStack waits
    assert "start.retry" not in advised(wait="36000", start_retry="4")
    assert advised(wait="36000", start_retry="3")["start.retry"].better == "4"


def test_a_job_is_not_cancelled_while_its_create_still_waits():
    assert advised(wait="7200")["job.cancel.threshold.minutes"].better == "121"


def test_what_is_not_set_is_cloudstacks_own_default():
    found = {each.name.value for each in advice({}, answer_within=ANSWER_WITHIN)}
    assert found == {"user.vm.denied.details"}


def test_what_is_no_number_is_taken_for_the_default():
    assert "wait" not in advised(wait="soon")


def test_only_some_wait_for_a_restart():
    changed = {"commands.timeout": "StopCommand=5", "expunge.delay": "99999", "start.retry": "0"}
    restarts = {name: each.restart for name, each in advised(**changed).items()}
    assert restarts == {"commands.timeout": True, "expunge.delay": True, "start.retry": False}
