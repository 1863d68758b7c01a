"""CloudStack registered by a plan, against the API server: plan, apply, an empty plan, verify."""

from collections import Counter
from pathlib import Path
from typing import Any, Protocol

from cloudstack_ext.api_server.server import ApiServer
from cloudstack_ext.api_server.settings import ServerSettings
from cloudstack_ext.lab.guest import must

PATH_CHECK_S = 1.0
"""CloudStack's own is 300 s: a host may be added after one of them."""
FILE = """\
version: 1
site: lab
endpoint: {endpoint}
zone: zone1
pod: pod1
cluster: {{name: lab-metal}}
pools:
  - {{host: lab-a, tag: lab-a, pool: a}}
images:
  - {{template: Tiny, image: tiny, os: Debian GNU/Linux 12 (64-bit)}}
  - {{template: Ubuntu, image: ubuntu-24.04-cuda, os: Ubuntu 24.04 LTS}}
sizes:
  - {{name: bm.lab, pool: a, cpu: 2, mhz: 2000, memory_mib: 1024}}
"""


class Asks(Protocol):
    """Runs `rackwright` commands."""

    def ask(self, *words: str) -> Any:  # noqa: ANN401 as wide as JSON is
        """One command that answers JSON."""
        ...


def register(site: Asks, folder: Path) -> str:
    """All of it, on a CloudStack of its own that is empty before and gone after.

    Args:
        site: Whose service remembers the registration; it has pool a with its two images.
        folder: For file, key and call log; made where it is not there.

    Returns:
        What was seen, in one line.

    Raises:
        OperatorError: LAB: it is not as it must be.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ApiServer(ServerSettings(path_check_s=PATH_CHECK_S)) as server:
        file, key = folder / "cloudstack.yaml", folder / "admin.key"
        file.write_text(FILE.format(endpoint=server.endpoint))
        key.touch(mode=0o600)
        key.write_text(f"key = {server.key.key}\nsecret = {server.key.secret.reveal()}\n")
        words = (str(file), "--api-key-file", str(key))
        planned = site.ask("cloudstack", "plan", *words)["steps"]
        must(bool(planned), "a plan for an empty CloudStack has steps")
        site.ask("cloudstack", "apply", *words)
        left = site.ask("cloudstack", "plan", *words)
        must(left["steps"] == [], "a second plan is empty")
        made = _counted(server)
        must(made["extension"] == 1 and made["host"] == 1, "extension and host are there")
        site.ask("cloudstack", "unregister", *words)
        must(not +_counted(server), "what was made is taken back")
        calls = len(server.calls.all())
    return f"{_words(made)} made in {calls} calls; a second plan is empty; all taken back"


def _counted(server: ApiServer) -> Counter[str]:
    state = server.state
    with state.lock:
        return Counter(
            extension=len(state.extensions),
            cluster=len(state.clusters),
            host=len(state.hosts),
            template=sum(not each.removed for each in state.templates.values()),
            offering=sum(not each.removed for each in state.offerings.values()),
        )


def _words(made: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in made.items())
