"""What the file says of pools and images, against what this Rackwright has. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cloudstack_ext.registration.wanted import Wanted

MOST_SERVERS: Final = 500
"""Of one host: CloudStack asks for each of its instances in turn, once a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPool:
    """One pool of ours.

    Attributes:
        images: Keys of its map.
        servers: That are not retired.
    """

    images: frozenset[str]
    servers: int


def strangers(wanted: Wanted, pools: Mapping[str, OwnPool]) -> Iterator[str]:
    """What the file names and nobody here has, each with its path."""
    for number, pool in enumerate(wanted.pools):
        own = pools.get(pool.pool)
        path = f"pools[{number}].pool"
        if own is None:
            yield f"{path}: there is no pool {pool.pool} here"
        elif own.servers > MOST_SERVERS:
            yield (
                f"{path}: {pool.pool} has {own.servers} servers; one host serves {MOST_SERVERS} at"
                " most, and a tag finds one host alone: make two pools"
            )
    keys = {key for pool in wanted.pools if pool.pool in pools for key in pools[pool.pool].images}
    named = [(f"images[{number}]", image.image) for number, image in enumerate(wanted.images)]
    named += [
        (f"foreign_templates[{number}]", each.image)
        for number, each in enumerate(wanted.foreign_templates)
    ]
    for path, key in named:
        if key not in keys:
            yield f"{path}.image: no pool of this file has {key} in its map of images"
