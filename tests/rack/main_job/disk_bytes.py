"""What lies on a deployed disk, byte by byte, read from its file."""

import subprocess

MIB = 1 << 20
SECTOR = 512
FILLER = 0xA5
EDGE = 16 * MIB
"""Cleared behind the image and at the disk's end."""
PRIMARY = 34 * SECTOR
"""Protective entry, header and entries of a GUID partition table; 33 sectors again at the end."""
BACKUP = 33 * SECTOR


def fill(file):
    """Every byte another one than zero; the file stays the same file."""
    size = file.stat().st_size
    with file.open("r+b") as disk:
        for _ in range(size // MIB):
            disk.write(bytes([FILLER]) * MIB)


def partition(file, name):
    """Where it lies, as another program than ours reads the table: [begin, end) in bytes."""
    said = subprocess.run(["sgdisk", "-p", file], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in said.splitlines()]
    ((first, last),) = [(int(row[1]), int(row[2])) for row in rows if row[-1:] == [name]]
    return first * SECTOR, (last + 1) * SECTOR


def expected(image, size):
    """A disk that was all filler, after the image was written and before a seed was."""
    rest = size - len(image)
    assert rest > 2 * EDGE
    middle = bytes([FILLER]) * (rest - 2 * EDGE)
    return image + bytes(EDGE) + middle + bytes(EDGE)


def differences(file, image):
    """Ranges [begin, end) of whole sectors in which the disk is not as it must be.

    Left out is what the seed may change: the table's primary and backup places, and `cidata`.
    """
    found = file.read_bytes()
    wanted = bytearray(expected(image, len(found)))
    free = [(0, PRIMARY), partition(file, "cidata"), (len(found) - BACKUP, len(found))]
    for begin, end in free:
        wanted[begin:end] = found[begin:end]
    if wanted == found:
        return []
    return [
        at
        for at in range(0, len(found), SECTOR)
        if wanted[at : at + SECTOR] != found[at : at + SECTOR]
    ]
