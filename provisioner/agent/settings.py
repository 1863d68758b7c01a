"""What the agent is told: by the kernel command line and the site's archive.

Standard library only.
"""

import json
import urllib.parse
from dataclasses import dataclass

AUTHORITY = "/etc/rackwright/ca.pem"
SITE = "/etc/rackwright/site.json"
_PREFIX = "rackwright."


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Where the service is, and this boot's token."""

    host: str
    port: int
    token: str

    def netloc(self) -> str:
        """Host and port as they stand in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_arguments(command_line: str) -> dict[str, str]:
    """The words `rackwright.NAME=VALUE` of a kernel command line; the last of a name counts."""
    words = (word.partition("=") for word in command_line.split() if word.startswith(_PREFIX))
    return {name.removeprefix(_PREFIX): value for name, _, value in words}


def parse_settings(command_line: str, site: str) -> AgentSettings:
    """Read both; the command line's url goes before the site's.

    Raises:
        ValueError: There is no token, or no URL of an HTTPS service.
    """
    arguments = parse_arguments(command_line)
    url = arguments.get("url") or _site_url(site)
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or parts.path.strip("/"):
        raise ValueError("rackwright.url is not https://HOST:PORT")
    token = arguments.get("token", "")
    if not token or not token.isascii() or not token.isprintable():
        raise ValueError("rackwright.token is missing")
    return AgentSettings(host=parts.hostname, port=parts.port or 443, token=token)


def _site_url(site: str) -> str:
    body = json.loads(site) if site else {}
    url = body.get("url") if isinstance(body, dict) else None
    return url if isinstance(url, str) else ""
