"""Who may import which outside library: one place each. A new one needs a row and a record."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = ("cloudstack_ext", "provisioner", "offerings")

PLACES = {
    # a client library: one module
    "sushy": ["provisioner/adapters/bmc_redfish/"],
    "cs": ["cloudstack_ext/client.py"],
    # below sushy and cs: the pin is there, and whether a request was sent
    "requests": ["provisioner/adapters/bmc_redfish/line.py", "cloudstack_ext/client.py"],
    "urllib3": ["provisioner/adapters/bmc_redfish/line.py", "cloudstack_ext/client.py"],
    "pyghmi": ["provisioner/adapters/bmc_ipmi_worker.py"],
    "paramiko": ["provisioner/adapters/ssh.py"],
    "pycdlib": ["provisioner/adapters/nonce_media.py"],
    "dbos": ["provisioner/durable.py"],
    "yaml": ["provisioner/servers/manifest.py"],
    "bcrypt": ["provisioner/lab/bmc_redfish.py"],  # comes with sushy-tools, for its user file
    "prometheus_client": ["provisioner/service/metrics.py"],
    # a framework: one folder
    "cryptography": ["provisioner/adapters/keys"],
    "sqlalchemy": ["provisioner/store/", "provisioner/durable.py"],
    "alembic": ["provisioner/store/"],
    "starlette": ["provisioner/service/"],
    "uvicorn": ["provisioner/service/"],
    "click": ["provisioner/cli/", "cloudstack_ext/cli/"],
    "rich": ["provisioner/cli/"],
}
# what a person names may be a pipe, so it is opened by provisioner/named_file.py alone
TAKE_NAMED_FILES = (
    "provisioner/cli/",
    "provisioner/evidence/",
    "cloudstack_ext/cli/",
    "cloudstack_ext/lab/commands.py",
)
STANDARD_LIBRARY_ONLY = ("provisioner/agent/", "provisioner/hardware/", "provisioner/wipe/")
# a process is started in one place; the lab and the ramdisk's tools run as programs of their own
MAY_START_PROCESSES = (
    "provisioner/adapters/process.py",
    "provisioner/agent/",
    "provisioner/lab/",
    "provisioner/ramdisk/",
    "cloudstack_ext/lab/",
    "cloudstack_ext/management_server/entry_point.py",  # in the server's way, to the letter
)


def _files():
    return [
        (path.relative_to(ROOT).as_posix(), ast.parse(path.read_text()))
        for name in OURS
        for path in sorted((ROOT / name).rglob("*.py"))
    ]


FILES = _files()


def _imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def test_each_outside_library_has_one_importing_place():
    plain = sys.stdlib_module_names | set(OURS)
    wrong = [
        f"{where} imports {name}"
        for where, tree in FILES
        for name in {each.partition(".")[0] for each in _imports(tree)} - plain
        if not any(where.startswith(place) for place in PLACES.get(name, []))
    ]
    assert not wrong


@pytest.mark.parametrize("folder", STANDARD_LIBRARY_ONLY)
def test_what_runs_in_the_ramdisk_needs_the_standard_library_alone(folder):
    allowed = ("provisioner.agent", "provisioner.hardware", "provisioner.wipe")
    wrong = [
        f"{where} imports {name}"
        for where, tree in FILES
        if where.startswith(folder)
        for name in _imports(tree)
        if name.partition(".")[0] not in sys.stdlib_module_names and not name.startswith(allowed)
    ]
    assert not wrong


def test_processes_start_in_one_place():
    wrong = [
        where
        for where, tree in FILES
        if not where.startswith(MAY_START_PROCESSES)
        and {"subprocess", "multiprocessing"} & set(_imports(tree))
    ]
    assert not wrong


def test_what_a_person_names_is_opened_in_one_place():
    wrong = [
        f"{where}:{node.lineno} {node.func.attr}"
        for where, tree in FILES
        if where.startswith(TAKE_NAMED_FILES)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"read_text", "read_bytes"}
    ]
    assert not wrong


def test_adapters_do_not_know_each_other():
    wrong = [
        f"{where} imports {name}"
        for where, tree in FILES
        if where.startswith("provisioner/adapters/")
        for name in _imports(tree)
        if name.startswith("provisioner.adapters.")
        and name.split(".")[2] not in where  # but the modules of one adapter do
    ]
    assert not wrong


def test_only_the_composition_root_and_the_lab_name_adapters():
    wrong = [
        f"{where} imports {name}"
        for where, tree in FILES
        if not where.startswith(
            ("provisioner/adapters/", "provisioner/lab/", "cloudstack_ext/main")
        )
        for name in _imports(tree)
        if name.startswith("provisioner.adapters")
    ]
    assert not wrong
