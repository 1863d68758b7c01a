"""The only module that knows pycdlib: media that carry a nonce to the machine behind a controller.

The web server of the blobs hands them out; a controller fetches one when it is inserted.
"""

import io
import secrets
import time
from pathlib import Path

import pycdlib

from provisioner.hardware.nonce import MEDIUM_BYTES, medium_with

PREFIX = "rackwright-nonce-"
KEPT_S = 3600.0
"""A controller fetches its medium at once; older files are taken away."""
README = b"A nonce of Rackwright, read by its agent from the first sector of this medium.\n"


class NonceFolder:
    """Media as files of a folder that a web server shows (bmc_redfish's NonceMedia).

    Args:
        folder: Made when needed; readable by the web server.
        url: Where the controllers find the folder, without a slash at the end.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self._url = folder, url

    def publish(self, nonce: bytes) -> str:
        """A new file each time: controllers skip a medium whose name they know."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._tidy()
        name = f"{PREFIX}{secrets.token_hex(16)}.iso"
        (self._folder / name).write_bytes(medium(nonce))
        return f"{self._url}/{name}"

    def is_ours(self, url: str) -> bool:
        """By the name, so that another process knows it too."""
        return url.rpartition("/")[2].startswith(PREFIX)

    def _tidy(self) -> None:
        oldest = time.time() - KEPT_S
        for file in self._folder.glob(f"{PREFIX}*.iso"):
            if file.stat().st_mtime < oldest:
                file.unlink(missing_ok=True)


def medium(nonce: bytes) -> bytes:
    """An ISO 9660 image; the nonce stands in its first sector, which the format leaves free."""
    iso = pycdlib.PyCdlib()
    iso.new(interchange_level=1, vol_ident="RACKWRIGHT")
    iso.add_fp(io.BytesIO(README), len(README), "/README.TXT;1")
    image = io.BytesIO()
    iso.write_fp(image)
    iso.close()
    return medium_with(nonce) + image.getvalue()[MEDIUM_BYTES:]
