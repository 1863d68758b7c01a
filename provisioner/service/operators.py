"""The listener for people and their programs: one table of routes, two ways to be known."""

from collections.abc import Callable

from starlette.applications import Starlette

from provisioner.operations.whole_desk import Desk
from provisioner.ports.clock import Clock
from provisioner.service.identity import Identify
from provisioner.service.metrics import Metrics
from provisioner.service.replies import application
from provisioner.service.routes import Route, endpoints
from provisioner.service.routes_catalogue import catalogue_routes
from provisioner.service.routes_differences import difference_routes
from provisioner.service.routes_hosts import host_routes
from provisioner.service.routes_operations import operation_routes
from provisioner.service.routes_records import document_route, record_routes
from provisioner.service.routes_registered import registered_routes
from provisioner.service.routes_registration_lease import registration_lease_routes
from provisioner.service.routes_servers import server_routes
from provisioner.service.routes_site_keys import site_key_routes


def operator_table(
    desk: Desk, *, clock: Clock, metrics: Metrics, stopping: Callable[[], bool]
) -> tuple[Route, ...]:
    """All that an operator can ask."""
    routes = (
        *server_routes(desk.servers, desk.catalogue),
        *operation_routes(desk, clock, stopping),
        *catalogue_routes(desk.catalogue),
        *record_routes(desk, metrics),
        *registered_routes(desk.registered),
        *registration_lease_routes(desk.leases),
        *site_key_routes(desk.site_keys, clock.wall),
        *difference_routes(desk.differences),
        *host_routes(desk.hosts),
    )
    return (*routes, document_route(routes))


def operator_app(table: tuple[Route, ...], identify: Identify) -> Starlette:
    """The application of one listener: on the Unix socket by peer, over HTTPS by token."""
    return application(endpoints(table, identify))
