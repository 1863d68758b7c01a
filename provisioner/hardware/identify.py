"""Names that SCSI and ATA disks carry in their vital product data. Standard library only."""

import struct

from provisioner.hardware.tree import Tree, clean, text

_PAGE_HEADER = 4
_IDENTIFY_AT = 60
"""Where the drive's own IDENTIFY DEVICE data begins in page 89h. Source: SAT-4, 12.4.2."""
_SERIAL_PAGE = 0x80
_ATA_PAGE = 0x89
_MODEL_WORDS = (27, 20)
_SERIAL_WORDS = (10, 10)


def unit_serial(tree: Tree, device: str) -> str | None:
    """Page 80h, unit serial number; an ATA disk behind a SAS card gives its own words instead."""
    from_drive = _ata_words(tree.read(f"{device}/vpd_pg89"), *_SERIAL_WORDS)
    page = tree.read(f"{device}/vpd_pg80")
    return from_drive or (page_text(page, _SERIAL_PAGE) if page else None)


def whole_model(tree: Tree, device: str) -> str | None:
    """The drive's 40 characters where ATA Information has them, else SCSI's vendor and model."""
    from_drive = _ata_words(tree.read(f"{device}/vpd_pg89"), *_MODEL_WORDS)
    if from_drive:
        return from_drive
    vendor = text(tree, f"{device}/vendor") or ""
    model = text(tree, f"{device}/model") or text(tree, f"{device}/name")
    # virtio's vendor is a number of its bus
    keep = vendor and vendor != "ATA" and not vendor.startswith("0x")
    return f"{vendor} {model}" if keep and model else model


def page_text(page: bytes, number: int) -> str | None:
    """The text of a vital product data page; None where it is another page, or says nothing."""
    if len(page) < _PAGE_HEADER or page[1] != number:
        return None
    (length,) = struct.unpack_from(">H", page, 2)
    return clean(page[_PAGE_HEADER : _PAGE_HEADER + length])


def _ata_words(page: bytes | None, first: int, count: int) -> str | None:
    """Text in IDENTIFY DEVICE data: two characters a word, swapped."""
    if page is None or len(page) < _IDENTIFY_AT + 512 or page[1] != _ATA_PAGE:
        return None
    words = page[_IDENTIFY_AT + first * 2 : _IDENTIFY_AT + (first + count) * 2]
    return clean(
        b"".join(words[at + 1 : at + 2] + words[at : at + 1] for at in range(0, len(words), 2))
    )
