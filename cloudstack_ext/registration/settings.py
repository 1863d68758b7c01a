"""Settings of CloudStack that an operator should decide, and why. Pure.

Advice: nothing is changed that the file does not name, and that only with --settings.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from types import MappingProxyType
from typing import Final

from provisioner.units import Seconds


class SettingName(StrEnum):
    """Global settings by CloudStack's own names."""

    START_RETRY = "start.retry"
    WAIT = "wait"
    COMMANDS_TIMEOUT = "commands.timeout"
    JOB_CANCEL_THRESHOLD = "job.cancel.threshold.minutes"
    FORCE_HA = "force.ha"
    EXPUNGE_DELAY = "expunge.delay"
    EXPUNGE_INTERVAL = "expunge.interval"
    DENIED_DETAILS = "user.vm.denied.details"


NEEDS_RESTART: Final = frozenset(
    {SettingName.COMMANDS_TIMEOUT, SettingName.EXPUNGE_DELAY, SettingName.EXPUNGE_INTERVAL}
)
"""Read once when a management server starts (seen for commands.timeout; the others by source)."""
DENIED: Final = ("deployvm", "External:pool", "External:image", "External:rackwright")
LONGEST_DEPLOYMENT_S: Final = Seconds(2 * 3600.0)
DEADLINE_OF_WAIT: Final = 0.8
"""Our create answers at 80 % of what CloudStack waits."""
DAY_S: Final = 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One setting that should be looked at.

    Attributes:
        value: In force; None where it is not set.
        better: What is proposed; "" where only a person can say.
        why: One sentence.
    """

    name: SettingName
    value: str | None
    better: str
    why: str
    restart: bool


Values = Mapping[str, str | None]


def advice(values: Values, *, answer_within: Seconds) -> tuple[Advice, ...]:
    """What to change, with the reason; nothing where all is well.

    Args:
        values: Settings in force, by name.
        answer_within: The longest that our create waits with its answer.
    """
    found = []
    for name, judge in _JUDGES.items():
        better_and_why = judge(values, answer_within)
        if better_and_why is not None:
            better, why = better_and_why
            found.append(
                Advice(
                    name=name,
                    value=values.get(name),
                    better=better,
                    why=why,
                    restart=name in NEEDS_RESTART,
                )
            )
    return tuple(found)


Judged = tuple[str, str] | None


def _start_retry(values: Values, answer_within: Seconds) -> Judged:
    wait = min(_number(values, SettingName.WAIT, 1800) * DEADLINE_OF_WAIT, answer_within)
    least = max(1, ceil(LONGEST_DEPLOYMENT_S / max(wait, 1.0)) - 1)
    retries = _number(values, SettingName.START_RETRY, 10)
    if retries == 0:
        return str(
            max(10, least)
        ), "with 0 CloudStack never calls the extension, every deploy fails"
    if retries < least:
        longest = LONGEST_DEPLOYMENT_S / 60
        return str(
            least
        ), f"create is asked again so often: deployments of {longest:.0f} min need it"
    return None


def _wait(values: Values, _answer_within: Seconds) -> Judged:
    if _number(values, SettingName.WAIT, 1800) < 600:  # noqa: PLR2004 a server's first boot alone
        return "1800", "a create, stop or delete is killed after this; a server boots for minutes"
    return None


def _commands_timeout(values: Values, _answer_within: Seconds) -> Judged:
    text = values.get(SettingName.COMMANDS_TIMEOUT) or ""
    short = [
        pair
        for pair in text.split(",")
        for command, _, seconds in [pair.strip().partition("=")]
        if command in {"StartCommand", "StopCommand", "RebootCommand"}
        and seconds.isdigit()
        and int(seconds) < 300  # noqa: PLR2004 a soft stop of 120 s and a hard one behind it
    ]
    if short:
        return "", f"{', '.join(short)}: StopCommand holds for delete too; 300 at least"
    return None


def _job_cancel(values: Values, _answer_within: Seconds) -> Judged:
    least = ceil(_number(values, SettingName.WAIT, 1800) / 60) + 1
    if 0 < _number(values, SettingName.JOB_CANCEL_THRESHOLD, 60) < least:
        return str(max(60, least)), "a job is cancelled while its create still runs"
    return None


def _force_ha(values: Values, _answer_within: Seconds) -> Judged:
    if (values.get(SettingName.FORCE_HA) or "").lower() == "true":
        return "false", "high availability fails inside CloudStack for External instances"
    return None


def _expunge(name: SettingName) -> Callable[[Values, Seconds], Judged]:
    def judge(values: Values, _answer_within: Seconds) -> Judged:
        if _number(values, name, DAY_S) > DAY_S:
            return str(DAY_S), "a server is given back only when its instance is expunged"
        return None

    return judge


def _denied(values: Values, _answer_within: Seconds) -> Judged:
    there = [each.strip() for each in (values.get(SettingName.DENIED_DETAILS) or "").split(",")]
    missing = [each for each in DENIED if each not in there]
    if missing:
        why = "with deployvm=true a tenant turns the next start into a create"
        return ",".join([*filter(None, there), *missing]), why
    return None


def _number(values: Values, name: SettingName, default: float) -> float:
    try:
        return float(values.get(name) or default)
    except ValueError:
        return default


_JUDGES: Final[Mapping[SettingName, Callable[[Values, Seconds], Judged]]] = MappingProxyType(
    {
        SettingName.START_RETRY: _start_retry,
        SettingName.WAIT: _wait,
        SettingName.COMMANDS_TIMEOUT: _commands_timeout,
        SettingName.JOB_CANCEL_THRESHOLD: _job_cancel,
        SettingName.FORCE_HA: _force_ha,
        SettingName.EXPUNGE_DELAY: _expunge(SettingName.EXPUNGE_DELAY),
        SettingName.EXPUNGE_INTERVAL: _expunge(SettingName.EXPUNGE_INTERVAL),
        SettingName.DENIED_DETAILS: _denied,
    }
)
