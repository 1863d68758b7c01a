"""Composition of `rackwright cloudstack`: the client and the clock behind its commands."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cloudstack_ext.api_key import ApiKey
    from cloudstack_ext.cli.group import Commands
    from cloudstack_ext.cli.work import RegistrationDoors
    from cloudstack_ext.client import CloudStackClient
    from cloudstack_ext.registration.wanted import Wanted
    from provisioner.ports.clock import Clock


def cloudstack_commands() -> "Commands":
    """Groups for the command line's root."""
    from cloudstack_ext.cli.conformance import conformance_command
    from cloudstack_ext.cli.group import cloudstack_group

    group = cloudstack_group(_doors)
    group.add_command(conformance_command(_clock))
    return (group,)


def _clock() -> "Clock":
    from provisioner.adapters.clock import SystemClock

    return SystemClock()


def _doors() -> "RegistrationDoors":
    from cloudstack_ext.cli.work import RegistrationDoors
    from provisioner.adapters.clock import SystemClock
    from provisioner.adapters.keys.certificate_end import certificate_ends
    from provisioner.adapters.ssh import open_shell

    return RegistrationDoors(
        clock=SystemClock(), connect=_connect, shell=open_shell, certificate_ends=certificate_ends
    )


def _connect(wanted: "Wanted", key: "ApiKey", clock: "Clock") -> "CloudStackClient":
    from cloudstack_ext.client import CloudStackClient

    return CloudStackClient(wanted.endpoint, key, clock, ca=wanted.ca)
