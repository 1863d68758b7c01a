"""What every route does with callers, roles, queries, and what is not there."""

import asyncio

import pytest

from provisioner.config import Role
from provisioner.errors import ConflictError, ErrorCode, InputError, OperatorError, TransientError
from provisioner.service.identity import ByToken
from provisioner.service.operators import operator_app
from provisioner.service.tokens import new_token
from tests.asgi import Reply, call
from tests.unit.service.operators import code_of


def test_what_is_not_there_is_404_with_its_code(service):
    for target, code in (
        ("/v1/servers/x", "SERVER_UNKNOWN"),
        ("/v1/operations/x", "OPERATION_UNKNOWN"),
        ("/v1/operations/x/events", "OPERATION_UNKNOWN"),
        ("/v1/pools/x", "POOL_UNKNOWN"),
        ("/v1/images/x", "IMAGE_UNKNOWN"),
        ("/v1/servers?pool=x", "POOL_UNKNOWN"),
        ("/v1/operations?server=x", "SERVER_UNKNOWN"),
        ("/v1/calls?server=x", "SERVER_UNKNOWN"),
        ("/v1/audit?server=x", "SERVER_UNKNOWN"),
        ("/v1/servers/", "ROUTE_UNKNOWN"),
        ("/v1/servers/bios1/", "ROUTE_UNKNOWN"),
        ("/nothing", "ROUTE_UNKNOWN"),
    ):
        reply = service.ask("GET", target)
        assert (reply.status, code_of(reply)) == (404, code)


def test_a_method_that_is_not_there_is_405_in_the_same_model(service):
    reply = service.ask("DELETE", "/v1/servers")
    assert (reply.status, code_of(reply)) == (405, "ROUTE_UNKNOWN")


@pytest.mark.parametrize(
    "query", ["dry_run=yes", "dry_run", "colour=1", "dry_run=true&dry_run=true"]
)
def test_a_query_that_is_not_understood_is_refused_and_nothing_is_done(service, query):
    reply = service.ask("POST", f"/v1/servers/bios1/inspect?{query}")
    assert (reply.status, service.desk.asked) == (400, [])


@pytest.mark.parametrize(
    ("uid", "method", "target", "status"),
    [
        (2, "GET", "/v1/servers", 200),
        (2, "POST", "/v1/servers/bios1/inspect", 403),
        (1, "POST", "/v1/servers/bios1/inspect", 200),
        (1, "POST", "/v1/servers/bios1/retire", 403),
        (1, "PUT", "/v1/pools/a", 403),
        (1, "PUT", "/v1/images/tiny", 403),
        (9, "GET", "/v1/servers", 403),
        (9, "GET", "/metrics", 403),
        (9, "GET", "/v1/openapi.json", 403),
        (9, "GET", "/v1/health", 200),
    ],
)
def test_roles_decide(service, uid, method, target, status):
    assert service.ask(method, target, uid=uid).status == status


def test_every_changing_route_needs_more_than_a_viewer(service):
    for route in service.table:
        if route.method != "GET":
            assert route.role in {Role.OPERATOR, Role.ADMIN}, route.path


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (InputError(ErrorCode.USAGE, "b"), 400, "input"),
        (ConflictError(ErrorCode.STATE_CONFLICT, "b"), 409, "conflict"),
        (OperatorError(ErrorCode.CANNOT_TELL, "b", "d"), 500, "operator"),
        (TransientError(ErrorCode.DATABASE_BUSY, "b"), 503, "transient"),
        (ConflictError(ErrorCode.SERVICE_HELD, "b"), 503, "operator"),
        (OperatorError(ErrorCode.FILE_UNREADABLE, "b"), 400, "input"),
    ],
)
def test_each_code_has_its_status_and_kind_whatever_its_class(service, error, status, kind):
    service.desk.refuse = error
    reply = service.ask("POST", "/v1/servers/bios1/inspect")
    assert reply.status == status
    assert reply.json()["error"]["kind"] == kind
    assert reply.json()["error"].get("detail") == (error.detail or None)


@pytest.mark.parametrize(
    ("query", "expected"), [("since=x", "a number"), ("most=1.5", "a whole number")]
)
def test_a_query_is_refused_in_words_that_are_not_pythons(service, query, expected):
    error = service.ask("GET", f"/v1/calls?{query}").json()["error"]
    assert error["brief"] == f"query: {query.partition('=')[0]}: {expected} is expected"


def test_a_bug_is_answered_in_the_same_model_and_raised_for_the_log(service):
    service.desk.refuse = TypeError("boom")
    with pytest.raises(TypeError):
        service.ask("POST", "/v1/servers/bios1/inspect")


def test_a_token_identifies_its_operator(service):
    token, line = new_token("ci", Role.OPERATOR, bytes(range(32)), "")
    app = operator_app(service.table, ByToken(lambda: line))

    def ask(header: str) -> Reply:
        headers = {"Authorization": header} if header else {}
        return asyncio.run(call(app, "POST", "/v1/servers/bios1/inspect", headers=headers))

    assert ask(f"Bearer {token.reveal()}").status == 200
    assert service.desk.asked[0][0] == "operator ci (token)"
    for wrong in ("", "Bearer", "Bearer x", f"Basic {token.reveal()}", "Bearer \u00e9"):
        assert ask(wrong).status == 403
