"""Routes of pools and images."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeVar

from provisioner.config import Role
from provisioner.errors import ErrorCode, InputError
from provisioner.operations.desk import CatalogueDesk
from provisioner.ports.catalogue import ImageRecord
from provisioner.servers.model import Pool, PoolPolicy, Requirements
from provisioner.service.routes import Asking, Route
from provisioner.strict import between, matching
from provisioner.units import ImageName, PoolName, WallSeconds

NAME: Final = r"[a-z0-9][a-z0-9-]{0,62}"
Name = Annotated[str, matching(NAME, "a name ([a-z0-9][a-z0-9-]{0,62})")]
Key = Annotated[str, matching(r"[!-~]{1,255}", "an image's name as the payload says it")]
Digest = Annotated[str, matching(r"[0-9a-f]{64}", "a SHA-256 in hex")]
Bytes = Annotated[int, between(1, 2**60)]
Count = Annotated[int, between(0, 2**60)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRequirements:
    """What servers must have before they are handed out."""

    min_cpu_threads: Count = 0
    min_memory_bytes: Count = 0
    min_gpus: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRules:
    """How servers of the pool are treated."""

    wipe_methods: Annotated[int, between(1, 4)] = 1
    wipe_class: Annotated[str, matching("clear|purge", "clear or purge")] = "clear"
    unerasable: Annotated[str, matching("refuse|list", "refuse or list")] = "refuse"
    frozen: Annotated[str, matching("refuse|overwrite", "refuse or overwrite")] = "refuse"
    at_deadline: Annotated[str, matching("fail|installing", "fail or installing")] = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolWanted:
    """A pool as an operator writes it down; its name stands in the address."""

    images: dict[Key, Name]
    requirements: PoolRequirements = PoolRequirements()
    policy: PoolRules = PoolRules()

    def pool(self, name: PoolName) -> Pool:
        """As it is remembered."""
        needed, policy = self.requirements, self.policy
        return Pool(
            name=name,
            images={key: ImageName(image) for key, image in self.images.items()},
            requirements=Requirements(
                min_cpu_threads=needed.min_cpu_threads,
                min_memory_bytes=needed.min_memory_bytes,
                min_gpus=needed.min_gpus,
            ),
            policy=PoolPolicy(
                wipe_methods=policy.wipe_methods,
                wipe_class=policy.wipe_class,
                unerasable=policy.unerasable,
                frozen=policy.frozen,
                at_deadline=policy.at_deadline,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageImported:
    """An image whose files already lie where nginx serves them."""

    root: Digest
    image_bytes: Bytes
    data_bytes: Count
    block_bytes: Bytes
    logical_sector_bytes: Annotated[int, between(512, 4096)]
    source_format: Annotated[str, matching(r"[a-z0-9.+-]{1,32}", "a format's name")]
    imported_at: float
    folder: Path

    def image(self, name: ImageName) -> ImageRecord:
        """As it is remembered."""
        return ImageRecord(
            name=name,
            root=self.root,
            image_bytes=self.image_bytes,
            data_bytes=self.data_bytes,
            block_bytes=self.block_bytes,
            logical_sector_bytes=self.logical_sector_bytes,
            source_format=self.source_format,
            imported_at=WallSeconds(self.imported_at),
            folder=self.folder,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolList:
    """All pools, by name."""

    pools: tuple[Pool, ...]
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolAnswer:
    """One pool."""

    pool: Pool
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageList:
    """All images, by name."""

    images: tuple[ImageRecord, ...]
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageAnswer:
    """One image."""

    image: ImageRecord
    version: int = 1


def catalogue_routes(desk: CatalogueDesk) -> tuple[Route, ...]:
    """The table."""

    async def pools(_asking: Asking) -> PoolList:
        return PoolList(pools=await desk.pools())

    async def pool(asking: Asking) -> PoolAnswer:
        wanted = asking.path["name"]
        return PoolAnswer(pool=named(await desk.pools(), wanted, ErrorCode.POOL_UNKNOWN, "pool"))

    async def put_pool(asking: Asking) -> PoolAnswer:
        made = asking.body.pool(PoolName(_good_name(asking)))
        await desk.put_pool(made, asking.operator)
        return PoolAnswer(pool=made)

    async def images(_asking: Asking) -> ImageList:
        return ImageList(images=await desk.images())

    async def image(asking: Asking) -> ImageAnswer:
        wanted, code = asking.path["name"], ErrorCode.IMAGE_UNKNOWN
        return ImageAnswer(image=named(await desk.images(), wanted, code, "image"))

    async def put_image(asking: Asking) -> ImageAnswer:
        made = asking.body.image(ImageName(_good_name(asking)))
        await desk.put_image(made, asking.operator)
        return ImageAnswer(image=made)

    async def remove_image(asking: Asking) -> ImageAnswer:
        return ImageAnswer(
            image=await desk.remove_image(ImageName(asking.path["name"]), asking.operator)
        )

    look, change = Role.VIEWER, Role.ADMIN
    pools_path, pool_path = "/v1/pools", "/v1/pools/{name}"
    images_path, image_path = "/v1/images", "/v1/images/{name}"
    table = (
        ("GET", pools_path, look, pools, "All pools.", PoolList, None),
        ("GET", pool_path, look, pool, "One pool.", PoolAnswer, None),
        ("PUT", pool_path, change, put_pool, "Make it so.", PoolAnswer, PoolWanted),
        ("GET", images_path, look, images, "All images.", ImageList, None),
        ("GET", image_path, look, image, "One image.", ImageAnswer, None),
        ("PUT", image_path, change, put_image, "Remember its import.", ImageAnswer, ImageImported),
        ("DELETE", image_path, change, remove_image, "Out of use.", ImageAnswer, None),
    )  # fmt: skip
    return tuple(
        Route(
            method=method,
            path=path,
            role=role,
            answer=answer,
            summary=summary,
            gives=gives,
            takes=takes,
        )
        for method, path, role, answer, summary, gives, takes in table
    )


Named = TypeVar("Named", Pool, ImageRecord)


def named(all_of_them: Iterable[Named], name: str, code: ErrorCode, what: str) -> Named:
    """The one of this name; raises InputError with this code."""
    found = next((each for each in all_of_them if each.name == name), None)
    if found is None:
        raise InputError(code, f"there is no {what} {name!r}")
    return found


def _good_name(asking: Asking) -> str:
    name = asking.path["name"]
    if wrong := matching(NAME, "a name ([a-z0-9][a-z0-9-]{0,62})")(name):
        raise InputError(ErrorCode.NAME_INVALID, f"{name!r}: {wrong}")
    return name
