"""The one command that gathers a host's texts: printed for people, sent over SSH."""

from functools import cache
from importlib import resources


@cache
def collect_script() -> str:
    """POSIX sh; it prints a bundle and changes nothing."""
    return resources.files("provisioner.hosts").joinpath("collect.sh").read_text(encoding="utf-8")
