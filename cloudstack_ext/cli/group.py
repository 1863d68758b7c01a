"""`rackwright cloudstack`: its commands, put together."""

import click

from cloudstack_ext.cli.registration import Doors, registration_commands
from cloudstack_ext.cli.service_key import service_key_command

Commands = tuple[click.Command, ...]


def cloudstack_group(doors: Doors) -> click.Group:
    """The group; other modules may add to it.

    Args:
        doors: Makes what the commands of a registration reach, when one is called.
    """

    @click.group()
    def cloudstack() -> None:
        """What is registered with CloudStack: plan it, make it so, look at it, take it back."""

    for command in registration_commands(doors):
        cloudstack.add_command(command)
    cloudstack.add_command(service_key_command(doors))
    return cloudstack
