"""Whether a free server can take what is asked for. Pure."""

from provisioner.errors import ErrorCode, InputError
from provisioner.servers.model import ServerRecord
from provisioner.servers.root_disk import own_disks, root_disk


def why_unfit(
    server: ServerRecord, *, networks: int, image_bytes: int | None, sector_bytes: int
) -> InputError | None:
    """None where it fits; the pool's requirements are compared elsewhere.

    Args:
        server: A free one.
        networks: How many are asked for.
        image_bytes: With the room for the seed; None where the image is not known yet.
        sector_bytes: Logical sectors that the image is made for.
    """
    ports = len(server.tenant_nics())
    if networks > ports:
        text = f"{networks} networks are asked for, it has {ports} tenant ports"
        return InputError(ErrorCode.NETWORKS_TOO_MANY, text)
    if image_bytes is None:
        return None
    if server.baseline is None:
        return InputError(ErrorCode.FACTS_DIFFER, "it has no baseline: inspect it first")
    try:
        own = own_disks(server.baseline.disks, server.excluded_disks)
        root_disk(server.root_disk, own, image_bytes=image_bytes, sector_bytes=sector_bytes)
    except InputError as error:
        return error
    return None
