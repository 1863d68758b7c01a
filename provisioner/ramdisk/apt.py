"""apt's indices, whose signatures apt has checked, and downloads through apt."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from provisioner.errors import ErrorCode, OperatorError
from provisioner.ramdisk.commands import run
from provisioner.ramdisk.lock import LockedPackage

KERNEL_OF_THE_RELEASE = "linux-image-amd64"
"""Debian's full kernel; the cloud one lacks ahci, ipmi_si and most network cards."""


def candidates(names: Sequence[str]) -> tuple[LockedPackage, ...]:
    """What apt would install of these, as the index describes it.

    Raises:
        OperatorError: RAMDISK_BUILD: apt does not know one of them.
    """
    output = run(["/usr/bin/apt-cache", "show", "--no-all-versions", *names])
    found = {each.name: each for each in parse_records(output.decode(errors="replace"))}
    missing = sorted(set(names) - set(found))
    if missing:
        raise OperatorError(
            ErrorCode.RAMDISK_BUILD,
            f"apt has no package {', '.join(missing)}: run apt-get update, or check the name",
        )
    return tuple(found[name] for name in sorted(set(names)))


def kernel_package() -> str:
    """The package that Debian's meta package for the kernel stands for today."""
    output = run(["/usr/bin/apt-cache", "show", "--no-all-versions", KERNEL_OF_THE_RELEASE])
    found = re.search(r"^Depends:.*?\b(linux-image-[a-z0-9.+-]+)", output.decode(), re.MULTILINE)
    if found is None:
        raise OperatorError(
            ErrorCode.RAMDISK_BUILD, f"apt's {KERNEL_OF_THE_RELEASE} names no kernel package"
        )
    return found[1]


def parse_records(text: str) -> Iterator[LockedPackage]:
    """The packages in what `apt-cache show` prints; records without a digest are left out."""
    for paragraph in re.split(r"\n\s*\n", text):
        fields = dict(re.findall(r"^([A-Z][A-Za-z0-9-]*): (.*)$", paragraph, re.MULTILINE))
        if {"Package", "Version", "SHA256", "Size"} <= set(fields):
            yield LockedPackage(
                name=fields["Package"],
                version=fields["Version"],
                sha256=fields["SHA256"],
                size_bytes=int(fields["Size"]),
            )


def download(packages: Sequence[LockedPackage], folder: Path) -> tuple[Path, ...]:
    """Fetch exactly these versions into an empty folder; what came is for the caller to check.

    One call for all takes a second; where one of them is gone apt fetches none, and each is
    asked for alone.
    """
    if not _download(packages, folder):
        for each in packages:
            _download([each], folder)
    return tuple(sorted(folder.glob("*.deb")))


def _download(packages: Sequence[LockedPackage], folder: Path) -> bool:
    try:
        run(
            [
                "/usr/bin/apt-get",
                "--quiet",
                # as root apt would drop to a user who may not enter our cache, and warn
                "--option=APT::Sandbox::User=root",
                "download",
                *(f"{each.name}={each.version}" for each in packages),
            ],
            folder=folder,
        )
    except OperatorError:
        return False
    return True
