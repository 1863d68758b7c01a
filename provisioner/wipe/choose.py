"""Which methods a disk gets: from what it says it can do, and from what the pool asks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from provisioner.wipe.capabilities import Capabilities, SanitizeState
from provisioner.wipe.method import (
    METHODS,
    SECURITY_ERASES,
    Leaves,
    Method,
    MethodFacts,
    WipeClass,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What one disk gets.

    Attributes:
        methods: In the order of running; empty where the disk has none.
        reaches: The best class of them, if the disk proves it.
        missing: What the policy asks and this disk cannot give, in one line; "" is all there.
    """

    methods: tuple[Method, ...]
    reaches: WipeClass
    missing: str = ""


def choose(
    capabilities: Capabilities,
    *,
    at_least: int,
    wipe_class: WipeClass,
    around_frozen: bool = False,
) -> Choice:
    """The strongest methods that the disk offers, one of them reaching the class if any does.

    Args:
        capabilities: Of this disk, read now.
        at_least: How many different methods (the pool's `wipe_methods`).
        wipe_class: What the pool asks.
        around_frozen: Leave out what a frozen disk refuses, where the others are enough for
            the pool. Else it is chosen, and refused.
    """
    offered = offers(capabilities)
    open_ones = tuple(each for each in offered if not is_frozen(each, capabilities))
    if around_frozen and open_ones != offered:
        choice = _choose(open_ones, capabilities, at_least, wipe_class)
        if not choice.missing:
            return choice
    return _choose(offered, capabilities, at_least, wipe_class)


def _choose(
    offered: tuple[Method, ...], capabilities: Capabilities, at_least: int, wipe_class: WipeClass
) -> Choice:
    if not offered:
        return Choice(
            methods=(), reaches=WipeClass.NONE, missing="no erase method: the disk is read-only"
        )
    reaching = [each for each in offered if reach(each, capabilities).rank() >= wipe_class.rank()]
    best = (reaching or _strongest_first(offered, capabilities))[0]
    others = [each for each in _strongest_first(offered, capabilities) if each is not best]
    taken = {best, *others[: max(0, at_least - 1)]}
    methods = tuple(each for each in Method if each in taken)
    return Choice(
        methods=methods,
        reaches=_best_class(methods, capabilities),
        missing=_missing(methods, at_least, wipe_class, capabilities),
    )


def offers(capabilities: Capabilities) -> tuple[Method, ...]:
    """All methods that this disk has, in the order of preference."""
    if capabilities.read_only:
        return ()
    return tuple(each for each in Method if _OFFERED[each](capabilities))


def is_frozen(method: Method, capabilities: Capabilities) -> bool:
    """The disk refuses this one until its next power-on, and perhaps after it."""
    ata = capabilities.ata
    if ata is None:
        return False
    is_sanitize = method.value.startswith("ata-sanitize")
    return (method in SECURITY_ERASES and ata.frozen) or (
        is_sanitize and ata.sanitize_state is SanitizeState.FROZEN
    )


def reach(method: Method, capabilities: Capabilities) -> WipeClass:
    """The class of a method on this disk, if it ends well."""
    if method is Method.DISCARD and capabilities.promises_zero_after_discard():
        return WipeClass.CLEAR
    if method is Method.ATA_ERASE_ENHANCED and capabilities.rotational:
        # NIST SP 800-88r1, table A-5: purge on magnetic disks only
        return WipeClass.PURGE
    return METHODS[method].reaches


def facts(method: Method) -> MethodFacts:
    """What is known of it whatever the disk."""
    return METHODS[method]


def leaves(methods: tuple[Method, ...]) -> Leaves:
    """What blocks may read as after these, run in this order: the last one decides."""
    return METHODS[methods[-1]].leaves if methods else Leaves.ZERO


def _strongest_first(offered: tuple[Method, ...], capabilities: Capabilities) -> list[Method]:
    """By class, then by preference; a discard after its equals: it is a hint, not a write."""
    return sorted(
        offered, key=lambda each: (-reach(each, capabilities).rank(), each is Method.DISCARD)
    )


def _best_class(methods: tuple[Method, ...], capabilities: Capabilities) -> WipeClass:
    return max((reach(each, capabilities) for each in methods), key=WipeClass.rank)


def _missing(
    methods: tuple[Method, ...], at_least: int, wipe_class: WipeClass, capabilities: Capabilities
) -> str:
    best = _best_class(methods, capabilities)
    if best.rank() < wipe_class.rank():
        return f"no method of this disk reaches {wipe_class}; the best is {best}"
    if len(methods) < at_least:
        return f"{at_least} methods are asked, this disk has {len(methods)}"
    return ""


_OFFERED: Mapping[Method, Callable[[Capabilities], bool]] = MappingProxyType(
    {
        Method.NVME_SANITIZE_CRYPTO: lambda c: bool(c.nvme and c.nvme.sanicap & 0b001),
        Method.NVME_SANITIZE_BLOCK: lambda c: bool(c.nvme and c.nvme.sanicap & 0b010),
        # a format without an erase setting (ses=0) promises nothing and is never offered
        Method.NVME_FORMAT_CRYPTO: lambda c: bool(c.nvme and c.nvme.has_crypto_format()),
        Method.NVME_FORMAT_ERASE: lambda c: bool(c.nvme and c.nvme.has_format()),
        Method.ATA_SANITIZE_CRYPTO: lambda c: bool(c.ata and c.ata.sanitize_crypto),
        Method.ATA_SANITIZE_BLOCK: lambda c: bool(c.ata and c.ata.sanitize_block),
        Method.ATA_SANITIZE_OVERWRITE: lambda c: bool(c.ata and c.ata.sanitize_overwrite),
        Method.ATA_ERASE_ENHANCED: lambda c: bool(c.ata and c.ata.security and c.ata.enhanced),
        Method.ATA_ERASE: lambda c: bool(c.ata and c.ata.security),
        Method.SCSI_SANITIZE_CRYPTO: lambda c: bool(c.scsi and c.scsi.sanitize_crypto),
        Method.SCSI_SANITIZE_BLOCK: lambda c: bool(c.scsi and c.scsi.sanitize_block),
        Method.SCSI_SANITIZE_OVERWRITE: lambda c: bool(c.scsi and c.scsi.sanitize_overwrite),
        Method.DISCARD: lambda c: c.discard_max_bytes > 0,
        Method.OVERWRITE: lambda _: True,
    }
)
