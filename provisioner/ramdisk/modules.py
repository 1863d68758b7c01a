"""Which module files a list of drivers needs, from what depmod and the kernel package say."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from provisioner.errors import ErrorCode, OperatorError


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleIndex:
    """A kernel's modules.

    Attributes:
        needs: Module name -> files, its own first, then those it needs. Below lib/modules/KV.
        soft: Module name -> modules that it asks for without linking to them.
        builtin: Names of drivers that are part of the kernel itself.
    """

    needs: Mapping[str, tuple[str, ...]]
    soft: Mapping[str, tuple[str, ...]]
    builtin: frozenset[str]

    def closure(self, drivers: Iterable[str]) -> tuple[str, ...]:
        """All files for these drivers, sorted.

        Raises:
            OperatorError: RAMDISK_BUILD, naming every driver that this kernel has not.
        """
        names = [name_of(each) for each in drivers]
        absent = [each for each in names if each not in self.needs and each not in self.builtin]
        if absent:
            raise OperatorError(ErrorCode.RAMDISK_BUILD, f"not in this kernel: {', '.join(absent)}")
        files: set[str] = set()
        seen: set[str] = set()
        while names:
            name = names.pop()
            if name in seen:
                continue
            seen.add(name)
            mine = self.needs.get(name, ())
            files.update(mine)
            # a soft dependency may name what this kernel has not: that is what soft means
            names += [name_of(each) for each in mine]
            names += self.soft.get(name, ())
        return tuple(sorted(files))


def name_of(text: str) -> str:
    """A module's name: the file's without folder and ending, with underscores."""
    return PurePosixPath(text).name.partition(".")[0].replace("-", "_")


def parse_index(needs: str, soft: str, builtin: str) -> ModuleIndex:
    """Read modules.dep, modules.softdep and modules.builtin."""
    files = {}
    for line in needs.splitlines():
        own, _, others = line.partition(":")
        files[name_of(own)] = (own, *others.split())
    wishes = {}
    for line in soft.splitlines():
        match line.split():
            case ["softdep", own, *wanted]:
                names = (name_of(each) for each in wanted if each not in {"pre:", "post:"})
                wishes[name_of(own)] = tuple(names)
            case _:
                pass  # a comment
    inside = frozenset(name_of(line) for line in builtin.splitlines() if line)
    return ModuleIndex(needs=files, soft=wishes, builtin=inside)
