"""The real entry as a process: what it refuses, sends and prints."""

import ast
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from provisioner.errors import ErrorCode
from tests.service.entry.rig import ENTRY, GOOD, code_of, http, one_object

pytestmark = pytest.mark.emulated
UNKNOWN = {"status": "success", "power_state": "PowerUnknown"}
MIB = 1024 * 1024
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


# --- what is refused before anything is sent --------------------------------------------------
@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["status"],
        ["status", "x.json"],
        ["status", "x.json", "1800", "more"],
        ["--help"],
        *(
            ["create", "x.json", wait]
            for wait in ("", "0", "-5", "1.5", "1e3", "x", "9" * 10, "9" * 9999, "\u0663")
        ),
    ],
)
def test_wrong_arguments(rig, argv):
    code, body = rig.run(*argv)
    assert (code, code_of(body)) == (1, "USAGE")


@pytest.mark.parametrize(
    "verb", ["", "com.cloud.agent.api.GetVmIpAddressCommand", "statuses.", ".", "x" * 256]
)
def test_a_name_with_a_dot_is_refused_without_connecting(rig, verb):
    service = rig.serve(http(GOOD))
    code, body, seconds = rig.timed(verb, wait="5")
    assert (code, code_of(body)) == (1, "VERB_UNKNOWN")
    assert seconds < rig.at_once_s()
    assert service.requests == []


def _fifo(rig):
    os.mkfifo(rig.folder / "fifo")
    return rig.folder / "fifo"


def _huge(rig):
    rig.payload.write_bytes(b" " * (4 * MIB + 1))
    return rig.payload


@pytest.mark.parametrize(
    ("payload", "wanted"),
    [
        (lambda rig: rig.folder / "none.json", "FILE_UNREADABLE"),
        (lambda rig: rig.folder, "FILE_UNREADABLE"),
        (lambda rig: rig.payload / "below", "FILE_UNREADABLE"),
        (lambda rig: rig.folder / ("x" * 300), "FILE_UNREADABLE"),
        (_fifo, "FILE_UNREADABLE"),
        (lambda _: "/dev/zero", "FILE_UNREADABLE"),
        (lambda _: "/dev/stdin", "FILE_UNREADABLE"),
        (lambda _: "", "FILE_UNREADABLE"),
        (lambda _: b"/\xff\xfe", "FILE_UNREADABLE"),
        (_huge, "PAYLOAD_TOO_LARGE"),
    ],
)
@pytest.mark.parametrize("verb", ["create", "status"])
def test_a_payload_that_cannot_be_sent(rig, verb, payload, wanted):
    service = rig.serve(http(GOOD))
    path = payload(rig)
    code, body = rig.run(verb, path if isinstance(path, bytes) else str(path), "1800")
    assert (code, code_of(body)) == (1, wanted)
    assert service.requests == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "socket\n",
        "socket =\n",
        "socket = relative.sock\n",
        f"socket = /{'x' * 107}\n",
        "socket = /a\nsocket = /b\n",
        "socket = /a\nretries = 7\n",
        "socket = /ä\n",
        b"\x00\xff\xfe",
        "url = https://rackwright.example:8443\n",
        "url = https://rackwright.example:8443\nca = /a\ncertificate = /b\n",
        "socket = /a\nurl = https://rackwright.example\nca = /a\ncertificate = /b\nkey = /c\n",
        "# x\n" * 20_000,
    ],
)
def test_a_configuration_that_says_nothing_useful(by_socket, text):
    by_socket.serve(http(GOOD))
    by_socket.write_config(text)
    for verb in ("create", "status"):
        code, body, seconds = by_socket.timed(verb)
        assert (code, code_of(body)) == (1, "CONFIG_INVALID")
        assert str(by_socket.config) in body["error"]
        assert seconds < by_socket.at_once_s()


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o700, 0o500, 0o4600, 0o000])
def test_a_configuration_that_others_may_read_is_refused(rig, mode):
    rig.serve(http(GOOD))
    rig.config.chmod(mode)
    code, body = rig.ask()
    assert code == 1
    assert code_of(body) in {"CONFIG_INVALID", "FILE_UNREADABLE"}


@root_only
def test_a_configuration_of_somebody_else_is_refused(rig):
    rig.serve(http(GOOD))
    os.chown(rig.config, 12345, 12345)
    assert code_of(rig.ask()[1]) == "CONFIG_INVALID"


@pytest.mark.parametrize("path", ["none.conf", "", "payload.json/x"])
def test_a_configuration_that_is_not_there_fails_at_once(rig, path):
    environment = rig.environment(RACKWRIGHT_ENTRY_CONFIG=path and str(rig.folder / path))
    if not path and os.access("/etc/rackwright/entry.conf", os.F_OK):
        pytest.skip("this machine has one")
    code, body, seconds = rig.timed("create", env=environment)
    assert (code, code_of(body)) == (1, "FILE_UNREADABLE")
    assert seconds < rig.at_once_s()


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_configuration_of_ours_alone_with_comments_is_taken(rig, mode):
    rig.serve(http(GOOD))
    text = rig.usual_config().replace(" = ", "=  ").replace("\n", "  \r\n")
    rig.write_config(f"# the service\n\n  {text}", mode)
    assert rig.ask() == (0, {"status": "success", "message": "on"})


# --- what is sent -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "payload",
    [b"", b"{}", b"not json \x00\xff\r\n\r\n", bytes(range(256)) * 4096, b"x" * (4 * MIB)],
)
def test_the_payload_s_bytes_are_forwarded_as_they_are(rig, payload):
    service = rig.serve(http(GOOD))
    rig.payload.write_bytes(payload)
    assert rig.ask()[0] == 0
    head, _, body = service.requests[0].partition(b"\r\n\r\n")
    assert body == payload
    assert head.split(b"\r\n")[0] == b"POST /v1/verbs?verb=create&wait=1800 HTTP/1.1"


@pytest.mark.parametrize(
    ("verb", "sent"),
    [
        ("sel log", b"sel%20log"),
        ("a&wait=9&b=c", b"a%26wait%3D9%26b%3Dc"),
        ("x HTTP/1.1\r\nA: b", None),
        ("x HTTP/1\r\nA: b", b"x%20HTTP%2F1%0D%0AA%3A%20b"),
        ("prüfen", b"pr%C3%BCfen"),
        (b"\xff", b"%FF"),
    ],
)
def test_a_custom_action_s_name_is_one_word_of_the_query(rig, verb, sent):
    service = rig.serve(http(GOOD))
    code, _ = rig.ask(verb)
    if sent is None:  # a dot
        assert code == 1
    else:
        assert service.requests[0].startswith(b"POST /v1/verbs?verb=" + sent + b"&wait=1800 HTTP")


# --- what is printed --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("said", "exit_code"), [(b"0", 0), (b"1", 1), (b"75", 1), (b"00", 1), (b"x", 1)]
)
def test_the_exit_status_is_0_or_1(rig, said, exit_code):
    rig.serve(http(GOOD, said))
    assert rig.ask()[0] == exit_code


def test_an_error_of_the_service_is_its_line(rig):
    line = b'{"status":"error","error":"NO_CAPACITY: pool a has no free server"}'
    rig.serve(http(line, b"1", b"503 Service Unavailable"))
    assert rig.ask() == (1, {"status": "error", "error": "NO_CAPACITY: pool a has no free server"})


@pytest.mark.parametrize(
    "answer",
    [
        http(GOOD, None),
        http(GOOD, None, b"403 Forbidden"),
        http(b"Internal Server Error", None, b"500 Internal Server Error"),
        http(GOOD, length=b"x"),
        http(GOOD, length=b"-5"),
        http(GOOD, length=b""),
        http(b""),
        http(b"[]"),
        http(b"on"),
        http(b"{}{}"),
        http(b"{"),
        http(b'{"a":\n1}'),
        http(b'{"a":"\xff"}'),
        http(b'{"a":' * 5000),
        http(b"{" + b" " * 32 * 1024 + b"}"),
        http(b"{}", length=b"40000"),
        http(b"{}", length=b"9" * 30),
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000,
        b"\x00" * 100_000,
    ],
)
@pytest.mark.parametrize("verb", ["create", "status"])
def test_an_answer_that_is_none_is_one_clear_line(rig, verb, answer):
    rig.serve(answer)
    code, body, seconds = rig.timed(verb)
    assert (code, code_of(body)) == (1, "INTERNAL")
    assert seconds < rig.at_once_s()


def test_the_largest_line_is_printed_and_one_byte_more_is_not(rig):
    line = b'{"a":"' + b"x" * (32 * 1024 - 9) + b'"}'
    rig.serve(http(line), http(line + b" "))
    assert rig.ask()[0] == 0
    assert code_of(rig.ask()[1]) == "INTERNAL"


def test_the_line_is_printed_as_it_came(rig):
    rig.serve(http(b' {"nics":[{"nicUuid":"n","mac":"m"}]} \r\n'))
    assert rig.ask("prepare") == (0, {"nics": [{"nicUuid": "n", "mac": "m"}]})


# --- descriptors, environment, signals --------------------------------------------------------
def _shell(rig, command):
    return subprocess.run(
        ["/bin/bash", "-c", command],
        env=rig.environment(ENTRY=str(ENTRY), PAYLOAD=str(rig.payload)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-"])
def test_closed_descriptors_change_nothing(rig, closed):
    rig.serve(http(GOOD))
    ended = _shell(rig, f'"$ENTRY" create "$PAYLOAD" 1800 {closed}')
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert one_object(ended.stdout)["message"] == "on"


def test_a_closed_stdout_is_not_the_socket_s_number(rig):
    service = rig.serve(http(GOOD))
    ended = _shell(rig, '"$ENTRY" create "$PAYLOAD" 1800 >&- <&- 2>&-')
    assert (ended.stdout, ended.stderr) == (b"", b"")
    assert service.requests[0].endswith(rig.payload.read_bytes())


@pytest.mark.parametrize("command", ['>/dev/full; echo "$?"', '| :; echo "${PIPESTATUS[0]}"'])
def test_a_line_that_cannot_be_written_is_a_failure_without_noise(rig, command):
    def late(connection):
        time.sleep(0.2)
        connection.sendall(http(GOOD))

    rig.serve(late)
    ended = _shell(rig, f'"$ENTRY" create "$PAYLOAD" 1800 {command}')
    assert (ended.stdout, ended.stderr) == (b"1\n", b"")


EVIL = (
    "ssl",
    "socket",
    "re",
    "rackwright_https",
    "json",
    "time",
    "_socket",
    "posix",
    "sitecustomize",
    "usercustomize",
    "encodings",
)


def test_nothing_that_is_around_it_is_loaded_or_heard(rig):
    rig.serve(http(GOOD))
    for name in EVIL:
        (rig.folder / f"{name}.py").write_text("import sys; sys.stderr.write('evil')")
    environment = rig.environment(
        PYTHONPATH=str(rig.folder),
        PYTHONVERBOSE="1",
        PYTHONWARNINGS="always",
        PYTHONDEVMODE="1",
        PYTHONSTARTUP=str(rig.folder / "json.py"),
        PYTHONHOME=str(rig.folder),
        LC_ALL="xx_YY.none",
    )
    argv = [ENTRY, "create", rig.payload, "1800"]
    ended = subprocess.run(argv, env=environment, cwd=rig.folder, capture_output=True, check=False)
    assert ended.stderr == b""
    assert one_object(ended.stdout)["message"] == "on"


@pytest.mark.parametrize("limit", [4, 5, 6])
def test_out_of_descriptors_is_one_line_too(rig, limit):
    rig.serve(http(GOOD))
    ended = _shell(rig, f'ulimit -n {limit}; exec "$ENTRY" create "$PAYLOAD" 2')
    assert ended.stderr == b""
    assert one_object(ended.stdout)


def _pid(connection):
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[:4], sys.byteorder)


def test_its_stderr_leads_nowhere(by_socket):
    seen = []

    def looking(connection):
        seen.append(str(Path(f"/proc/{_pid(connection)}/fd/2").readlink()))
        connection.sendall(http(GOOD))

    by_socket.serve(looking)
    by_socket.ask()
    assert seen == ["/dev/null"]


def test_an_interrupt_is_one_line_too(by_socket):
    def interrupting(connection):
        os.kill(_pid(connection), 2)
        connection.recv(1)

    by_socket.serve(interrupting)
    code, body = by_socket.ask()
    assert (code, code_of(body)) == (1, "INTERNAL")


# --- what the file is -------------------------------------------------------------------------
def _imported(path):
    """What its import statements load, but for those that only a type checker reads."""
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def test_it_is_executable_and_needs_built_in_modules_alone():
    assert os.access(ENTRY, os.X_OK)
    assert set(_imported(ENTRY)) - {"json", "rackwright_https"} <= set(sys.builtin_module_names)


def test_the_way_over_https_needs_the_standard_library_alone():
    assert set(_imported(ENTRY.with_name("rackwright_https.py"))) <= sys.stdlib_module_names


def test_its_codes_are_of_the_closed_list():
    codes = set(re.findall(r'FailureError\(\s*"([A-Z_]+)"|failure\("([A-Z_]+)"', ENTRY.read_text()))
    assert {first or second for first, second in codes} <= {code.value for code in ErrorCode}
    assert len(codes) >= 7


def test_what_a_status_costs_beside_a_bare_python(rig, capsys):
    rig.serve(http(b'{"status":"success","power_state":"PowerOn"}'))
    ours, bare = [], []
    for _ in range(40):
        for argv, times in (
            ([ENTRY, "status", rig.payload, "1800"], ours),
            (["/usr/bin/python3", "-I", "-S", "-c", "pass"], bare),
        ):
            began = time.perf_counter()
            subprocess.run(argv, env=rig.environment(), capture_output=True, check=True)
            times.append(time.perf_counter() - began)
    ours_s, bare_s = statistics.median(ours), statistics.median(bare)
    assert len(ours) == len(bare) == 40
    with capsys.disabled():
        print(  # the figure is for people; nothing here depends on time
            f"\nstatus {ours_s * 1000:.1f} ms, bare python {bare_s * 1000:.1f} ms: "
            f"{ours_s / bare_s:.2f} times (medians of {len(ours)}, alternating)"
        )
