"""What goes into the ramdisk, and into the rescue system that lies packed in it: four lists."""

from collections.abc import Mapping
from importlib import resources

from provisioner.errors import ErrorCode, InputError
from provisioner.ramdisk.lock import parse_package_name


def text_of(name: str) -> str:
    """A data file of this package."""
    return resources.files("provisioner.ramdisk").joinpath(name).read_text(encoding="utf-8")


def parse_contents(text: str) -> Mapping[str, tuple[str, ...]]:
    """Package name -> paths below / that are taken from it.

    Raises:
        InputError: CONFIG_INVALID, with the number of the line.
    """
    found: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        name, paths = parse_package_name(words[0]), tuple(words[1:])
        if name in found or any(not each.startswith("usr/") or ".." in each for each in paths):
            raise InputError(ErrorCode.CONFIG_INVALID, f"packages, line {number}: {line}")
        found[name] = paths
    return found


def parse_names(text: str) -> tuple[str, ...]:
    """All words outside comments, each once, in their order."""
    words = [word for line in text.splitlines() for word in line.partition("#")[0].split()]
    return tuple(dict.fromkeys(words))


def contents() -> Mapping[str, tuple[str, ...]]:
    """packages.txt."""
    return parse_contents(text_of("packages.txt"))


def rescue_contents() -> Mapping[str, tuple[str, ...]]:
    """rescue-packages.txt."""
    return parse_contents(text_of("rescue-packages.txt"))


def packages() -> tuple[str, ...]:
    """The names of both lists, each once."""
    return tuple(dict.fromkeys((*contents(), *rescue_contents())))


def drivers() -> tuple[str, ...]:
    """drivers.txt."""
    return parse_names(text_of("drivers.txt"))


def rescue_drivers() -> tuple[str, ...]:
    """rescue-drivers.txt."""
    return parse_names(text_of("rescue-drivers.txt"))
