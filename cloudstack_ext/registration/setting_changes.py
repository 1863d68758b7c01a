"""Changing CloudStack's settings as the file has them; only with --settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cloudstack_ext.registration.reading import Api
from cloudstack_ext.registration.settings import NEEDS_RESTART, SettingName
from cloudstack_ext.registration.wanted import Wanted

CHANGED_BY: Final = "updateConfiguration"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """One setting that differs.

    Attributes:
        restart: In force only after a restart of the management servers.
    """

    name: SettingName
    old: str | None
    new: str
    restart: bool

    def text(self) -> str:
        """One line, with both values."""
        waits = "; in force after a restart of the management servers" if self.restart else ""
        return f"setting {self.name}: {self.old or 'not set'} -> {self.new}{waits}"


def setting_changes(
    wanted: Wanted, in_force: Mapping[str, str | None]
) -> tuple[SettingChange, ...]:
    """Settings that the file names and that have another value."""
    return tuple(
        SettingChange(name=name, old=in_force.get(name), new=value, restart=name in NEEDS_RESTART)
        for name, value in (wanted.settings or {}).items()
        if in_force.get(name) != value
    )


async def change_settings(
    api: Api, changes: tuple[SettingChange, ...], say: Callable[[str], None]
) -> None:
    """Each with its old and its new value, and whether it waits for a restart."""
    for each in changes:
        await api.call(CHANGED_BY, {"name": each.name.value, "value": each.new})
        say(each.text())
