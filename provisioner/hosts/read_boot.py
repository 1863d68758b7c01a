"""Kernel, boot loader in use, entries and initramfs from a bundle's texts. Pure."""

import re
from collections.abc import Iterator
from typing import Final

from provisioner.hardware.unknown import NOT_SAID, Unknown
from provisioner.hosts.facts import BootEntry, HostBoot, Loader
from provisioner.hosts.read_machine import efi_variable
from provisioner.hosts.texts import Texts

_ENTRIES: Final = ("/boot/loader/entries", "/boot/efi/loader/entries", "/efi/loader/entries")
_TOOLS: Final = ("update-initramfs", "dracut", "mkinitcpio")
_BUILT_IN: Final = (
    "vfio", "vfio-pci", "vfio_iommu_type1", "nouveau", "amdgpu", "i915", "xe", "snd-hda-intel",
    "xhci-pci", "simpledrm", "efifb",
)  # fmt: skip
"""Modules whose place decides how a device can be bound early."""


def read_boot(texts: Texts) -> HostBoot:
    """All that the texts say of it."""
    line = texts.line("/proc/cmdline")
    words = line if isinstance(line, Unknown) else tuple(line.split())
    loader, evidence = _loader(texts, words)
    return HostBoot(
        kernel=texts.line("/proc/sys/kernel/osrelease"),
        command_line=words,
        boot_id=texts.line("/proc/sys/kernel/random/boot_id"),
        loader=loader,
        loader_evidence=evidence,
        entries=(*_grub_entries(texts), *_loader_entries(texts)),
        saved_entry=_saved_entry(texts),
        initramfs_tools=_initramfs_tools(texts),
        built_in=_built_in(texts),
    )


def _loader(texts: Texts, words: tuple[str, ...] | Unknown) -> tuple[Loader | Unknown, str]:
    """By what it left: its EFI variable, else the word that it adds to the command line."""
    variable = efi_variable(texts, "LoaderInfo")
    if isinstance(variable, bytes):
        said = variable.decode("utf-16-le", "replace").rstrip("\0")
        for loader in Loader:
            if said.lower().startswith(loader.value.lower()):
                return loader, f"EFI variable LoaderInfo: {said}"
    for word in () if isinstance(words, Unknown) else words:
        if word.startswith("BOOT_IMAGE="):
            return Loader.GRUB, f"/proc/cmdline: {word}"
        if word.startswith("initrd=\\"):
            return Loader.SYSTEMD_BOOT, f"/proc/cmdline: {word}"
    return NOT_SAID, ""


def _grub_entries(texts: Texts) -> Iterator[BootEntry]:
    said = texts.command("grub-entries", partial=True)
    if isinstance(said, Unknown):
        return
    title, identifier = "", ""
    for line in said.splitlines():
        entry = re.match(r"\s*menuentry\s+(['\"])(.*?)\1(.*)$", line)
        if entry:
            title = entry[2]
            found = re.search(r"(?:--id|\$menuentry_id_option)\s+['\"]?([^'\" {]+)", entry[3])
            identifier = found[1] if found else title
        kernel = re.match(r"\s*linux(?:efi)?\s+(\S+)", line)
        if kernel and title:
            yield BootEntry(title=title, identifier=identifier, kernel=kernel[1], source="grub.cfg")
            title = ""


def _loader_entries(texts: Texts) -> Iterator[BootEntry]:
    """Boot Loader Specification, type 1."""
    for folder in _ENTRIES:
        for name in texts.files.names(folder):
            text = texts.file(f"{folder}/{name}")
            if isinstance(text, Unknown) or not name.endswith(".conf"):
                continue
            values = dict(re.findall(r"^(\w+)[ \t]+(.*?)[ \t]*$", text, re.MULTILINE))
            identifier = name.removesuffix(".conf")
            yield BootEntry(
                title=values.get("title", identifier),
                identifier=identifier,
                kernel=values.get("linux", ""),
                source=f"{folder}/{name}",
            )


def _saved_entry(texts: Texts) -> str | Unknown | None:
    for path in ("/boot/grub/grubenv", "/boot/grub2/grubenv"):
        text = texts.file(path)
        if isinstance(text, str):
            found = re.search(r"^saved_entry=(.*)$", text, re.MULTILINE)
            return found[1].strip() if found else None
    return NOT_SAID


def _initramfs_tools(texts: Texts) -> tuple[str, ...] | Unknown:
    said = texts.command("tools", partial=True)
    if isinstance(said, Unknown):
        return said
    there = {line.partition(" ")[0] for line in said.splitlines()}
    return tuple(each for each in _TOOLS if each in there)


def _built_in(texts: Texts) -> tuple[str, ...] | Unknown:
    for release in texts.files.names("/lib/modules"):
        text = texts.file(f"/lib/modules/{release}/modules.builtin")
        if isinstance(text, str):
            names = {line.rpartition("/")[2].removesuffix(".ko") for line in text.splitlines()}
            same = {name.replace("_", "-") for name in names}
            return tuple(each for each in _BUILT_IN if each.replace("_", "-") in same)
    return NOT_SAID
