"""Which function answers which command; one module a kind of object."""

from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server.call import Handler
from cloudstack_ext.api_server.handlers import (
    accounts,
    apis,
    clusters,
    configuration,
    custom_actions,
    extensions,
    hosts,
    jobs,
    offerings,
    places,
    roles,
    templates,
)

HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        **apis.COMMANDS,
        **places.COMMANDS,
        **configuration.COMMANDS,
        **extensions.COMMANDS,
        **clusters.COMMANDS,
        **hosts.COMMANDS,
        **custom_actions.COMMANDS,
        **templates.COMMANDS,
        **offerings.COMMANDS,
        **roles.COMMANDS,
        **accounts.COMMANDS,
        **jobs.COMMANDS,
    }
)
