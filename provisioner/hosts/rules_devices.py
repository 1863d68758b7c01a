"""Rules about single GPUs: console, binding, links, models. Pure."""

import re
from collections.abc import Iterator
from typing import Final

from provisioner.hardware.gpu import Gpu
from provisioner.hardware.pci import AerCounts, Link, PciDevice
from provisioner.hardware.unknown import Unknown
from provisioner.hosts.facts import HostFacts
from provisioner.hosts.finding_catalogue import Code
from provisioner.hosts.seen import HOST, Seen, of_device, seen, shown

_IDS: Final = re.compile(r"vfio[-_]pci\.ids=(.*)")


def _each(facts: HostFacts) -> Iterator[tuple[Gpu, PciDevice]]:
    for gpu in facts.gpus:
        device = facts.device(gpu.address)
        if device is not None:
            yield gpu, device


def console(facts: HostFacts) -> Iterator[Seen]:
    """Who shows the host's own screen."""
    held: dict[str, list[str]] = {}
    if not isinstance(facts.framebuffers, Unknown):
        for each in facts.framebuffers:
            held.setdefault(each.device or "", []).append(each.owner)
    for _, device in _each(facts):
        if device.boot_vga is True:
            text = of_device(device.address, "boot_vga")
            yield seen(Code.CONSOLE_GPU, device.address, (text, "1"))
        for owner in held.get(device.address, ()):
            text = "/proc/iomem or /sys/class/graphics"
            yield seen(Code.FRAMEBUFFER_ON_GPU, device.address, (text, owner))


def binding(facts: HostFacts) -> Iterator[Seen]:
    """Which driver has it, and which one should."""
    for _, device in _each(facts):
        if device.driver == "nouveau":
            text = of_device(device.address, "driver")
            yield seen(Code.NOUVEAU_ON_GPU, device.address, (text, "nouveau"))
    for device in facts.pci:
        wanted, driver = device.driver_override, device.driver
        is_known = not isinstance(driver, Unknown)
        if isinstance(wanted, str) and is_known and driver != wanted:
            override = (of_device(device.address, "driver_override"), wanted)
            link = (of_device(device.address, "driver"), driver or "none")
            yield seen(Code.OVERRIDE_NOT_FOLLOWED, device.address, override, link)


def by_model(facts: HostFacts) -> Iterator[Seen]:
    """Ids on the kernel line take all of their kind."""
    words = facts.boot.command_line
    for word in () if isinstance(words, Unknown) else words:
        match = _IDS.fullmatch(word)
        ids = (
            [":".join(each.split(":")[:2]).lower() for each in match[1].split(",")] if match else []
        )
        taken = [each for each in facts.pci if each.ids() in ids]
        if taken:
            said = (("command lspci", shown(each)) for each in taken)
            yield seen(Code.BOUND_BY_MODEL, HOST, ("/proc/cmdline", word), *said)


def in_use(facts: HostFacts) -> Iterator[Seen]:
    """Guests that have a GPU now."""
    addresses = {each.address for each in facts.gpus}
    addresses |= {each for gpu in facts.gpus for each in gpu.virtual_functions}
    for domain in () if isinstance(facts.domains, Unknown) else facts.domains:
        for device in domain.devices:
            if domain.running is True and device.address in addresses:
                said = f"domain {domain.name} runs with it"
                yield seen(Code.GPU_IN_USE, device.address, ("virsh dumpxml", said))


def reset(facts: HostFacts) -> Iterator[Seen]:
    """A GPU that cannot be reset carries one guest's state to the next."""
    for _, device in _each(facts):
        if device.reset_methods == ():
            text = of_device(device.address, "reset_method")
            yield seen(Code.NO_RESET, device.address, (text, "none"))


def links(facts: HostFacts) -> Iterator[Seen]:
    """Width alone: an idle GPU lowers its speed."""
    for _, device in _each(facts):
        now, most = device.link, device.link_most
        slot = _above(facts, device)
        if not isinstance(now, Link) or not isinstance(most, Link):
            continue
        possible = min([most.width, *([slot.width] if isinstance(slot, Link) else [])])
        if now.width < possible:
            text = of_device(device.address, "current_link_width")
            most_text = of_device(device.address, "max_link_width")
            said = ((text, now.width), (most_text, most.width))
            yield seen(Code.LINK_NARROW, device.address, *said)


def _above(facts: HostFacts, device: PciDevice) -> Link | Unknown | None:
    """What the port can do that the device hangs on."""
    bridges = () if isinstance(device.bridges, Unknown) else device.bridges
    port = facts.device(bridges[-1]) if bridges else None
    return port.link_most if port is not None else None


def errors(facts: HostFacts) -> Iterator[Seen]:
    """Of the GPU and of each bridge on its way; corrected ones are everyday."""
    for _, device in _each(facts):
        bridges = () if isinstance(device.bridges, Unknown) else device.bridges
        on_the_way = [each for each in map(facts.device, bridges) if each is not None]
        said = [
            (
                of_device(each.address, "aer_dev_nonfatal"),
                f"{each.aer.nonfatal} nonfatal, {each.aer.fatal} fatal",
            )
            for each in (device, *on_the_way)
            if isinstance(each.aer, AerCounts) and each.aer.nonfatal + each.aer.fatal
        ]
        if said:
            yield seen(Code.AER_ERRORS, device.address, *said)


def windows(facts: HostFacts) -> Iterator[Seen]:
    """BARs without an address, as /sys shows them; the log has its own rule."""
    for _, device in _each(facts):
        bars = () if isinstance(device.bars, Unknown) else device.bars
        missing = [each for each in bars if each.is_own_memory() and not each.is_assigned]
        if missing:
            said = (
                (
                    of_device(device.address, "resource"),
                    f"BAR {each.number}, {each.bytes} bytes: no address",
                )
                for each in missing
            )
            yield seen(Code.BAR_UNASSIGNED, device.address, *said)


def models(facts: HostFacts) -> Iterator[Seen]:
    """What is known of a model, and what is not."""
    for gpu, device in _each(facts):
        ids = ("command lspci", f"{device.ids()}, subsystem {device.subsystem}")
        if not gpu.is_known_model:
            yield seen(Code.MODEL_UNKNOWN, gpu.address, ids)
        elif gpu.products and isinstance(gpu.tool.name, Unknown):
            yield seen(
                Code.MODEL_AMBIGUOUS, gpu.address, ids, ("products", ", ".join(gpu.products))
            )
        if gpu.functions_of_board > 1:
            said = ("makers' data", f"{gpu.functions_of_board} on a board")
            yield seen(Code.BOARD_OF_SEVERAL, gpu.address, ids, said)


RULES: Final = (console, binding, by_model, in_use, reset, links, errors, windows, models)
