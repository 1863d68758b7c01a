"""Writes the generated pages: python -m tests.generate."""

from pathlib import Path

from cloudstack_ext import power_view
from provisioner import error_catalogue
from provisioner.servers import states_page

DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    """Write each page anew."""
    (DOCS / "errors.md").write_text(error_catalogue.page())
    (DOCS / "status.md").write_text(power_view.status_page())
    (DOCS / "states.md").write_text(states_page.page())


if __name__ == "__main__":
    main()
