"""The small second archive of a site: which authority the agent trusts, and where its service is.

Apart from the ramdisk, so that the ramdisk's digest is the same at every site.
"""

import json

from provisioner.ramdisk.cpio import archive, file_entry, folder_entry

AUTHORITY_PATH = "etc/rackwright/ca.pem"
SITE_PATH = "etc/rackwright/site.json"
_DATE = 0
"""The bytes depend on the content alone."""


def site_archive(authority_pem: bytes, url: str) -> bytes:
    """What is served as site.img, the second initrd.

    Args:
        authority_pem: Certificate of the site's own authority.
        url: Of the service on the provisioning network: https://address:port.
    """
    entries = (
        folder_entry("etc"),
        folder_entry("etc/rackwright"),
        file_entry(AUTHORITY_PATH, authority_pem),
        file_entry(SITE_PATH, json.dumps({"version": 1, "url": url}).encode()),
    )
    return b"".join(archive(entries, date=_DATE))
