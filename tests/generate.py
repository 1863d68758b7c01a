"""Writes the generated pages: python -m tests.generate."""

import json
from pathlib import Path

from cloudstack_ext import power_view
from cloudstack_ext.conformance import pitfalls
from provisioner import error_catalogue
from provisioner.hosts import finding_catalogue
from provisioner.servers import states_page
from tests.bench import page as performance
from tests.unit.cloudstack_ext.api_server import page as api_server

DOCS = Path(__file__).parents[1] / "docs"


def pages() -> dict[str, str]:
    """Each generated page by its file's name."""
    return {
        "errors.md": error_catalogue.page(),
        "gpu-findings.md": finding_catalogue.page(),
        "status.md": power_view.status_page(),
        "pitfalls.md": pitfalls.page(),
        "states.md": states_page.page(),
        "cloudstack-api-server.md": api_server.page(),
        "performance.md": performance.page(json.loads((DOCS / "performance.json").read_text())),
    }


def main() -> None:
    """Write each page anew."""
    for name, text in pages().items():
        (DOCS / name).write_text(text)


if __name__ == "__main__":
    main()
