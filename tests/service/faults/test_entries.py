"""A management server's certificate, from its issue to its end, beside a service that runs."""

import json

import pytest

from tests.service.entry.rig import HTTPS

pytestmark = pytest.mark.emulated


def test_a_certificate_is_renewed_and_the_old_one_revoked_without_a_restart(site):
    site.by(HTTPS)
    site.start()
    assert site.call("status", "one").power == "PowerUnknown"
    old, new = site.state / "entry", site.folder / "new"
    made = _command(site, "--site", "lab", "--out", str(new))
    assert made["restart"] is False
    assert site.call("stop", "one").exit == 0  # the old one is as good as before
    (revoked,) = _command(site, "--revoke", "--but-newest")["revoked"]

    refused = site.call("stop", "one")
    assert (refused.exit, refused.code) == (1, "TLS_REFUSED")
    assert f"{revoked} of entry lab, site lab, was revoked" in refused.text
    assert site.call("status", "one").code == "TLS_REFUSED"

    for path in new.iterdir():
        path.replace(old / path.name)
    assert site.call("stop", "one").exit == 0
    acts = site.client.ask("GET", "/v1/audit?most=20")["acts"]
    assert [each["act"] for each in acts if "entry" in each["act"]] == [
        "revoke entry",
        "init entry",
        "init entry",
    ]


def _command(site, *words):
    ended = site.command("init", "entry", "lab", "--output", "json", *words)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)
