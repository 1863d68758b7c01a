"""`rackwright lab`: what its commands do."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provisioner.cli.callbacks import ApiServerCallbacks, LabCallbacks, Say

if TYPE_CHECKING:
    from cloudstack_ext.lab.cloudstack import LabCloudStack
    from cloudstack_ext.lab.site import LabSite


def lab_callbacks() -> LabCallbacks:
    """For the composition root."""
    return LabCallbacks(
        up=_up,
        down=_down,
        status=_status,
        payload=_payload,
        api_server=ApiServerCallbacks(
            up=lambda fail_call, when: _cloudstack().up(fail_call, when),
            down=lambda: _cloudstack().down(),
            status=lambda: _cloudstack().status(),
        ),
    )


def _cloudstack() -> "LabCloudStack":
    from cloudstack_ext.lab.cloudstack import LabCloudStack

    return LabCloudStack.of(os.environ)


def _site(say: Say) -> "LabSite":
    from cloudstack_ext.lab.site import LabSite

    return LabSite.of(os.environ, say)


def _silent(_line: str) -> None:
    """Says nothing."""


def _up(say: Say) -> None:
    from cloudstack_ext.lab.demo import OWN, no_demo

    site = _site(say)
    with no_demo(site):
        (site.rack.paths.state / OWN).unlink(missing_ok=True)  # from now on somebody's lab
        site.up()
        site.debian()


def _down(say: Say) -> None:
    _site(say).down()


def _status() -> Mapping[str, Any]:
    from provisioner.lab.description import describe

    return describe(_site(_silent).rack)


def _payload(
    verb: str, instance: str, image: str | None, ssh_key: Path | None, user_data: Path | None
) -> str:
    from cloudstack_ext.contract import Verb
    from cloudstack_ext.lab.instances import IMAGE, instance_of
    from cloudstack_ext.lab.payload import lab_payload
    from provisioner.errors import ErrorCode, InputError
    from provisioner.named_file import read_named

    known = {each.value: each for each in Verb}
    if verb not in known:
        names = ", ".join(sorted(known))
        raise InputError(ErrorCode.VERB_UNKNOWN, f"{verb!r} is none of {names}")
    given = instance_of(
        instance,
        number=_site(_silent).numbers.of(instance),
        image=image or IMAGE,
        ssh_key=read_named(ssh_key).decode("utf-8", "replace").strip() if ssh_key else None,
        user_data=read_named(user_data) if user_data else None,
    )
    return lab_payload(known[verb], given).decode()
