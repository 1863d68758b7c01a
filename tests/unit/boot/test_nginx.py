from dataclasses import replace
from pathlib import Path

import pytest

from provisioner.boot.nginx import BlobServer, configuration
from provisioner.errors import InputError

SERVER = BlobServer(
    address="10.66.0.1",
    port=8081,
    blobs=Path("/var/lib/rackwright/blobs"),
    run=Path("/run/rackwright"),
    logs=Path("/var/log/rackwright"),
    user="www-data",
)


def test_only_reading_below_blobs_is_answered():
    text = configuration(SERVER)

    assert "listen 10.66.0.1:8081;" in text
    assert text.count("listen ") == 1
    assert "location / { return 404; }" in text
    assert "alias /var/lib/rackwright/blobs/;" in text
    assert "limit_except GET { deny all; }" in text
    assert "autoindex" not in text


def test_one_range_a_request_and_files_from_the_page_cache():
    text = configuration(SERVER)

    assert "max_ranges 1;" in text
    assert "sendfile on;" in text


@pytest.mark.parametrize("blobs", ["/a; return 200", "/a b", "/a{", "/a\n"])
def test_a_path_that_nginx_would_read_as_syntax_is_refused(blobs):
    with pytest.raises(InputError):
        configuration(replace(SERVER, blobs=Path(blobs)))
