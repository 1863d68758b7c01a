"""The list of commands: what is served is in it, and the rest is refused as the real one does."""

import pytest
from cs import CloudStackApiException

from cloudstack_ext.api_server.commands import ParameterType, known_commands
from cloudstack_ext.api_server.handlers import HANDLERS
from cloudstack_ext.api_server.jobs import CLASSES
from cloudstack_ext.api_server.parameters import read_values
from cloudstack_ext.api_server.refusals import RefusalError


def test_the_list_is_the_recorded_one():
    commands = known_commands()
    assert len(commands) == 152
    assert sum(len(each.parameters) for each in commands.values()) == 1296
    create = commands["createExtension"]
    assert (create.is_async, create.since, create.roles) == (False, "4.21.0", {"admin"})
    assert create.parameters["details"].type is ParameterType.MAP
    assert [each.name for each in create.parameters.values() if each.required] == ["name", "type"]


def test_what_is_served_is_in_the_list():
    assert set(HANDLERS) <= set(known_commands())


def test_every_asynchronous_command_has_the_class_of_its_job():
    served = {name for name in HANDLERS if known_commands()[name].is_async}
    assert served == {*CLASSES, "runCustomAction"}


@pytest.mark.parametrize(
    ("given", "texts", "maps"),
    [
        ({"name": "x", "type": "Orchestrator"}, {"name": "x", "type": "Orchestrator"}, {}),
        ({"NAME": "x", "Type": "y", "other": "z"}, {"name": "x", "type": "y"}, {}),
        (
            {"name": "x", "type": "y", "details[1].b": "2", "details[0].External:a": "1"},
            {"name": "x", "type": "y"},
            {"details": ({"External:a": "1"}, {"b": "2"})},
        ),
        (
            {"name": "x", "type": "y", "details[0].a.b": "1", "others[0].c": "2"},
            {"name": "x", "type": "y"},
            {"details": ({"a.b": "1"},)},
        ),
    ],
)
def test_parameters_are_read_by_the_list(given, texts, maps):
    values = read_values(known_commands()["createExtension"], given)
    assert (values.texts, values.entries) == (texts, maps)


@pytest.mark.parametrize(
    ("command", "given", "words"),
    [
        ("createExtension", {"type": "x"}, "missing parameter name"),
        ("addCustomAction", {"name": "x"}, "missing parameter extensionid"),
        ("listZones", {"page": "x"}, "invalid value x for parameter page"),
        (
            "createExtension",
            {"name": "x", "type": "y", "path": "z" * 256},
            "Value greater than max allowed length 255 for param: path",
        ),
    ],
)
def test_what_is_missing_or_wrong_is_named(command, given, words):
    with pytest.raises(RefusalError) as caught:
        read_values(known_commands()[command], given)
    assert caught.value.code == 431
    assert caught.value.text.endswith(words)
    assert command.lower() in caught.value.text


@pytest.mark.emulated
@pytest.mark.parametrize(
    ("command", "code"), [("listEvents", 432), ("login", 432), ("noSuchCommand", 401)]
)
def test_a_command_that_is_not_there_is_refused(api, command, code):
    with pytest.raises(CloudStackApiException) as caught:
        getattr(api, command)()
    assert caught.value.response.status_code == code
    assert next(iter(caught.value.response.json())) == "errorresponse"
