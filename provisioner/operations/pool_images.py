"""Which image an instance gets: operators choose what the names in payloads mean."""

from provisioner.errors import ErrorCode, InputError
from provisioner.ports.catalogue import Catalogue, ImageRecord
from provisioner.servers.allocation import InstanceRequest
from provisioner.store.waiting import stored


async def image_of(catalogue: Catalogue, request: InstanceRequest) -> ImageRecord:
    """The image that the pool's own map gives to the name in the payload (invariant 11).

    Raises:
        InputError: POOL_MISSING, POOL_UNKNOWN, IMAGE_MISSING, IMAGE_UNKNOWN.
    """
    if request.pool is None:
        raise InputError(ErrorCode.POOL_MISSING, "the host names no pool: set its detail `pool`")
    pool = await stored(catalogue.pool, request.pool)
    if pool is None:
        raise InputError(ErrorCode.POOL_UNKNOWN, f"there is no pool {request.pool}")
    if request.image is None:
        raise InputError(ErrorCode.IMAGE_MISSING, "the template names no image")
    image = pool.images.get(request.image)
    if image is None:
        names = ", ".join(sorted(pool.images))
        raise InputError(
            ErrorCode.IMAGE_UNKNOWN, f"pool {pool.name} has no such image; it has: {names}"
        )
    record = await stored(catalogue.image, image)
    if record is None:
        raise InputError(ErrorCode.IMAGE_MISSING, f"image {image} is not imported")
    return record
