import os

import pytest

from provisioner.adapters.nonce_media import NonceFolder, medium
from provisioner.hardware.nonce import nonce_on_medium

NONCE = bytes(range(13))


def test_the_agent_reads_the_nonce_from_the_first_sector():
    assert nonce_on_medium(medium(NONCE)[:2048]) == NONCE


def test_it_is_a_medium_of_iso_9660():
    image = medium(NONCE)
    assert image[16 * 2048 + 1 : 16 * 2048 + 6] == b"CD001"
    assert len(image) % 2048 == 0


def test_each_medium_has_a_url_of_its_own_and_is_known_again(tmp_path):
    media = NonceFolder(tmp_path / "nonce", "http://10.66.0.1:8081/blobs/nonce")
    urls = [media.publish(NONCE) for _ in range(2)]
    assert urls[0] != urls[1]
    assert all(NonceFolder(tmp_path, "http://other").is_ours(url) for url in urls)
    assert (tmp_path / "nonce" / urls[0].rpartition("/")[2]).read_bytes() == medium(NONCE)


@pytest.mark.parametrize("url", ["", "http://files/debian.iso", "http://files/rackwright.iso"])
def test_a_medium_of_somebody_else_is_not_ours(tmp_path, url):
    assert not NonceFolder(tmp_path, "http://files").is_ours(url)


def test_old_media_are_taken_away(tmp_path):
    media = NonceFolder(tmp_path, "http://files")
    old = tmp_path / media.publish(NONCE).rpartition("/")[2]
    os.utime(old, (0, 0))
    media.publish(NONCE)
    assert not old.exists()
