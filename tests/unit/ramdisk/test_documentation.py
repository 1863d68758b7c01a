import re
from pathlib import Path

from provisioner.ramdisk.contents import contents, drivers, rescue_contents, rescue_drivers

PAGE = (Path(__file__).parents[3] / "docs" / "hardware.md").read_text()


def section(title):
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_the_page_names_exactly_the_drivers_of_the_ramdisk():
    rows = [line for line in section("Drivers").splitlines() if line.startswith("|")]
    assert set(re.findall(r"`([^`]+)`", "\n".join(rows))) == {*drivers(), *rescue_drivers()}


def test_the_page_names_every_program_of_the_ramdisk():
    programs = {
        path.rpartition("/")[2]
        for paths in (*contents().values(), *rescue_contents().values())
        for path in paths
        if path.startswith(("usr/bin/", "usr/sbin/"))
    }
    named = set(re.findall(r"`([^`]+)`", section("What is in it")))
    assert programs <= named | {each for each in programs if each.startswith("python")}
