import json

import pytest

from cloudstack_ext.lab.site import POOL, LabSite

PUT = ("pool", "put", POOL, "--image", "a=tiny")


@pytest.mark.parametrize(
    ("pools", "asked"),
    [
        ([], [PUT]),
        ([{"name": "other", "images": {"a": "tiny"}}], [PUT]),
        ([{"name": POOL, "images": {}}], [PUT]),
        ([{"name": POOL, "images": {"a": "debian-12"}}], [PUT]),
        ([{"name": POOL, "images": {"a": "tiny"}}], []),
        ([{"name": POOL, "images": {"a": "tiny", "own": "x"}, "unerasable": "list"}], []),
    ],
)
def test_what_somebody_set_in_the_labs_pool_stays(tmp_path, monkeypatch, pools, asked):
    called = []

    def command(_site, *words):
        if words[:2] != ("pool", "list"):
            called.append(words)
        return json.dumps({"pools": pools})

    monkeypatch.setattr(LabSite, "command", command)
    site = LabSite.of({"XDG_CACHE_HOME": str(tmp_path)}, lambda _line: None)
    site.pool({"a": "tiny"})
    assert called == asked
