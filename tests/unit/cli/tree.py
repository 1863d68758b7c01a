"""Every command of the tree, with words that call it."""

import click

MORE = {
    ("server", "maintenance"): ["--reason", "a fan"],
    ("server", "change"): ["--user", "ann"],
    ("init", "entry"): ["--site", "zone1", "--out", "/o"],
}
"""Options of which one is needed."""
VALUES = {
    "name": "bios1",
    "identifier": "00000000-0000-4000-8000-000000000001",
    "reason": "a fan",
    "site": "lab",
    "instance": "11111111-1111-1111-1111-111111111111",
    "role": "viewer",
    "shell": "bash",
    "what": "tiny",
    "verb": "create",
}


def leaves(command, words=()):
    """Words and command of each leaf."""
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from leaves(each, (*words, name))
        if command.invoke_without_command:
            yield words, command
    else:
        yield words, command


def places(cli, kind):
    """Words, command and parameter of each place that takes a value of this type."""
    for words, command in leaves(cli):
        for parameter in command.params:
            if isinstance(parameter.type, kind):
                yield words, command, parameter


def call(words, command, of=None, value=""):
    """A whole call with all that is needed, and with this value of this parameter."""
    options, arguments = list(MORE.get(words, ())), []
    for each in command.params:
        if each is not of and not each.required:
            continue
        given = value if each is of else VALUES.get(each.name, "x")
        if isinstance(each, click.Option):
            options += [f"{each.opts[0]}={given}"]
        else:
            arguments.append(given)
    return [*words, *options, "--", *arguments]  # what begins with a dash is no option
