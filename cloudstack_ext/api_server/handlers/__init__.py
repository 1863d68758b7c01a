"""Which function answers which command; one module a kind of object."""

from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server.call import Handler
from cloudstack_ext.api_server.handlers import (
    accounts,
    annotations,
    apis,
    clusters,
    configuration,
    custom_actions,
    deploy,
    extensions,
    hosts,
    instance_jobs,
    instances,
    jobs,
    offerings,
    places,
    projects,
    roles,
    run_action,
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
        **deploy.COMMANDS,
        **instances.COMMANDS,
        **instance_jobs.COMMANDS,
        **run_action.COMMANDS,
        **annotations.COMMANDS,
        **projects.COMMANDS,
    }
)
