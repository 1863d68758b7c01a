"""The OpenAPI document and the routes say the same."""

import json
import re

import pytest

from tests.unit.service.operators import code_of


def test_the_document_and_the_routes_are_the_same(service):
    document = service.ask("GET", "/v1/openapi.json").json()
    served = {(r.path, m) for r in service.app.routes for m in r.methods - {"HEAD"}}
    described = {(p, m.upper()) for p, each in document["paths"].items() for m in each}
    assert served == described


def test_every_route_describes_its_errors(service):
    document = service.ask("GET", "/v1/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            errors = set(operation["responses"]) - {"200"}
            assert {"400", "500", "503"} <= errors
            for status in errors:
                content = operation["responses"][status]["content"]["application/json"]
                assert content["schema"] == {"$ref": "#/components/schemas/Error"}, (path, method)
            assert operation["summary"]


@pytest.mark.parametrize(
    ("method", "path", "beside"),
    [
        ("get", "/v1/servers/{name}", {"403", "404"}),
        ("get", "/v1/calls", {"403", "404"}),
        ("get", "/v1/pools", {"403"}),
        ("get", "/v1/openapi.json", {"403"}),
        ("post", "/v1/servers", {"403", "404", "409", "413"}),
        ("delete", "/v1/images/{name}", {"403", "404", "409"}),
    ],
)
def test_a_route_describes_only_statuses_that_it_can_answer_with(service, method, path, beside):
    document = service.ask("GET", "/v1/openapi.json").json()
    found = set(document["paths"][path][method]["responses"])
    assert found == {"200", "400", "500", "503"} | beside


def test_the_document_says_what_a_method_that_is_not_here_gets(service):
    reply = service.ask("POST", "/v1/openapi.json")
    assert (reply.status, code_of(reply)) == (405, "ROUTE_UNKNOWN")
    assert "405" in service.ask("GET", "/v1/openapi.json").json()["info"]["description"]


def test_every_reference_of_the_document_leads_somewhere(service):
    text = service.ask("GET", "/v1/openapi.json").text
    schemas = json.loads(text)["components"]["schemas"]
    for name in re.findall(r'"#/components/schemas/(\w+)"', text):
        assert schemas[name]
    names = [o["operationId"] for p in json.loads(text)["paths"].values() for o in p.values()]
    assert len(names) == len(set(names))


def test_every_error_is_of_the_described_model(service):
    document = service.ask("GET", "/v1/openapi.json").json()
    model = document["components"]["schemas"]["Error"]["properties"]["error"]
    for reply in (
        service.ask("GET", "/v1/servers/x"),
        service.ask("GET", "/nothing"),
        service.ask("POST", "/v1/servers", []),
    ):
        error = reply.json()["error"]
        assert set(model["required"]) <= set(error) <= set(model["properties"])
        assert error["code"] in model["properties"]["code"]["enum"]
        assert error["kind"] in model["properties"]["kind"]["enum"]
