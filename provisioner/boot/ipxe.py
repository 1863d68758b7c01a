"""The scripts that iPXE fetches: one that loads the ramdisk, and one for everybody else."""

import re
from dataclasses import dataclass

from provisioner.errors import ErrorCode, InputError

KERNEL = "vmlinuz"
RAMDISK = "initrd.img"
SITE = "site.img"
"""Names inside iPXE; under UEFI the kernel looks its archives up by these."""

_PLAIN = re.compile(r"[A-Za-z0-9_.,:;/=@%+*?~()\[\]<>!-]+")
"""What a word of a kernel command line may hold: nothing that iPXE reads as its own syntax
(quotes, backslash, ${...}, && and ||) and no white space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Where the three parts of a network boot lie.

    Attributes:
        kernel: URL.
        ramdisk: URL of the first archive.
        site: URL of the second, small archive, which carries the site's authority.
        arguments: Kernel command line, without the names of the archives.
    """

    kernel: str
    ramdisk: str
    site: str
    arguments: str


def command_line(words: str) -> str:
    """The words of a kernel command line with single spaces between them.

    Raises:
        InputError: MANIFEST_INVALID: a word holds something that iPXE would take for syntax.
    """
    parts = words.split()
    for part in parts:
        if not _PLAIN.fullmatch(part):
            raise InputError(
                ErrorCode.MANIFEST_INVALID,
                f"the kernel argument {part!r} holds a character that a boot script cannot carry",
            )
    return " ".join(parts)


def ask(url: str) -> str:
    """The first script, the same for every machine: it asks for the machine's own.

    A service that is away for a moment is asked again and again: iPXE would give up at once, and
    the firmware start what lies on a disk. The operation's deadline ends it.

    Args:
        url: Where scripts are given; iPXE itself fills in the MAC.
    """
    return f"""#!ipxe
:ask
chain --replace {command_line(url)}?mac=${{netX/mac}} || goto again
:again
echo The service did not answer, asking again in 2 seconds
sleep 2
goto ask
"""


def load(boot: Loaded) -> str:
    """The script that starts the ramdisk.

    A part that does not come is asked for again and again: the script itself is given only
    once, so a blob server that is away for a moment must not cost the boot. The operation's
    deadline ends it, by switching the server off.

    Raises:
        InputError: MANIFEST_INVALID, as `command_line` says.
    """
    arguments = command_line(boot.arguments)
    kernel, ramdisk, site = (command_line(url) for url in (boot.kernel, boot.ramdisk, boot.site))
    return f"""#!ipxe
:load
imgfree
kernel --name {KERNEL} {kernel} {arguments} initrd={RAMDISK} initrd={SITE} || goto again
initrd --name {RAMDISK} {ramdisk} || goto again
initrd --name {SITE} {site} || goto again
boot || goto again
:again
echo The boot files did not come, asking again in 5 seconds
sleep 5
goto load
"""


def shut() -> str:
    """The script for a machine without a running operation: off, or else still for ever.

    It must not fall through to the next boot device: that may be a disk that nobody wiped.
    """
    return """#!ipxe
echo No operation is running for this machine
:stay
poweroff || sleep 60
goto stay
"""
