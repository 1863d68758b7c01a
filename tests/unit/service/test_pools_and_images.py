"""Routes of pools and images."""

import pytest

from provisioner.ports.catalogue import ImageRecord
from provisioner.servers.model import Pool
from provisioner.units import (
    ImageName,
    PoolName,
)
from tests.unit.service.operators import IMAGE


def test_a_pool_is_put_and_shown(service):
    body = {"images": {"ubuntu-24.04-cuda": "tiny"}, "policy": {"wipe_methods": 2}}
    assert service.ask("PUT", "/v1/pools/a", body).status == 200
    assert service.ask("GET", "/v1/pools/a").json()["pool"]["policy"]["wipe_methods"] == 2
    assert service.desk.pool_map["a"].images == {"ubuntu-24.04-cuda": "tiny"}


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/v1/pools/A_", {"images": {}}),
        ("/v1/pools/a", {"images": {"x": "../y"}}),
        ("/v1/pools/a", {"images": {}, "policy": {"wipe_class": "hope"}}),
        ("/v1/pools/a", {"images": {}, "policy": {"wipe_methods": 0}}),
        ("/v1/pools/a", {}),
        ("/v1/images/tiny", IMAGE | {"root": "x"}),
        ("/v1/images/tiny", IMAGE | {"image_bytes": 0}),
        ("/v1/images/..", IMAGE),
    ],
)
def test_a_pool_or_image_that_cannot_be_is_refused(service, target, body):
    assert service.ask("PUT", target, body).status == 400
    assert service.desk.asked == []


def test_an_image_is_remembered_and_shown(service):
    assert service.ask("PUT", "/v1/images/tiny", IMAGE).status == 200
    assert isinstance(service.desk.image_map["tiny"], ImageRecord)
    assert service.ask("GET", "/v1/images/tiny").json()["image"]["folder"] == IMAGE["folder"]
    assert len(service.ask("GET", "/v1/images").json()["images"]) == 1


def test_pools_hold_their_names(service):
    service.desk.pool_map["a"] = Pool(name=PoolName("a"), images={"tiny": ImageName("tiny")})
    assert service.ask("GET", "/v1/pools").json()["pools"][0]["name"] == "a"
