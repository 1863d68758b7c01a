"""What the pages say is there: links, files, tests, commands with their options."""

import re
import shlex
from pathlib import Path

import click
import pytest

from cloudstack_ext.main import callbacks
from provisioner.cli.group import make_cli
from provisioner.cli.session import Session
from provisioner.errors import RackwrightError

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
INLINE = re.compile(r"`([^`]+)`")
BLOCK = " " * 4
CALLED = re.compile(r"(?:^|-- |\(|; |&& |do )rackwright (?=[a-z]|--[a-z])(.*)")
PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9./_-]*")
FOLDERS = ("provisioner/", "cloudstack_ext/", "offerings/", "playbooks/", "tests/", "docs/")


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name):
    page = ROOT / name
    wrong = []
    for target in LINK.findall(page.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in _anchors(there)):
            wrong.append(target)
    assert not wrong


@pytest.mark.parametrize("name", NAMES)
def test_every_file_and_test_that_is_named_is_there(name):
    wrong = []
    for code in _inline(name):
        path, _, test = code.partition("::")
        if not path.startswith(FOLDERS) or re.search(r"[\s*<{]", path):
            continue
        there = ROOT / path
        if not there.exists() or (test and f"def {test}(" not in there.read_text()):
            wrong.append(code)
    assert not wrong


@pytest.mark.parametrize("name", NAMES)
def test_every_command_is_one(name):
    assert not [
        f"{line}: {problem}" for line in _command_lines(name) if (problem := _problem_of(line))
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_verb_of_dev_is_one(name):
    known = set(re.findall(r"^([a-z]+)\)", (ROOT / "dev").read_text(), re.MULTILINE))
    asked = re.findall(r"\./dev ([a-z]+)", (ROOT / name).read_text())
    assert set(asked) <= known | {"help"}


def test_commands_that_are_none_are_found():
    assert _problem_of("server levitate gpu-17")
    assert _problem_of("server show gpu-17 --colour red")
    assert _problem_of("init token alice emperor")
    assert not _problem_of("server show")
    assert not _problem_of("init token NAME ROLE")


def _anchors(page):
    """As GitHub makes them of headings."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", head.lower()) for head in heads]
    return {head.replace(" ", "-") for head in plain}


def _inline(name):
    """Code within sentences, which may be broken over lines."""
    lines = (ROOT / name).read_text().splitlines()
    prose = " ".join(line for line in lines if not line.startswith(BLOCK) or "`" in line)
    return [re.sub(r"\s+", " ", each).strip() for each in INLINE.findall(prose)]


def _command_lines(name):
    """What stands behind the word rackwright, in blocks and in sentences."""
    blocks = [
        line.strip()
        for line in (ROOT / name).read_text().splitlines()
        if line.startswith(BLOCK) and "`" not in line
    ]
    found = [match[1] for line in blocks if (match := CALLED.search(line))]
    return found + [
        each.removeprefix("rackwright ") for each in _inline(name) if each.startswith("rackwright ")
    ]


def _problem_of(line):
    # up to where the shell goes on with something else
    words = shlex.split(re.split(r"\s[|>]|\s2>|\s&&|;\s|;$", line)[0].rstrip(")\\"), comments=True)
    command, said = make_cli(callbacks()), list(words)
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        if words[0] not in command.commands:
            return f"no such command {words[0]}"
        command, words = command.commands[words[0]], words[1:]
    try:
        command.make_context(command.name, words, obj=Session(callbacks=callbacks()))
    except (click.MissingParameter, click.exceptions.NoArgsIsHelpError, click.exceptions.Exit):
        return ""  # a command that is only named, --help, --version
    except (click.BadParameter, RackwrightError) as error:
        return "" if any(PLACEHOLDER.fullmatch(each) for each in said) else str(error)
    except click.UsageError as error:
        return error.format_message()
    return ""
