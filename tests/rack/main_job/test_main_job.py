"""The main job as one story: enrolled, deployed, used, given back, wiped with proof.

Each test is one chapter on what the ones before left; after one that failed the others are not
told. The chapters are those of `./dev demo --quick`; here more is looked at in between.
"""

import asyncio
import json
import subprocess

import pytest

from cloudstack_ext.lab.stages import TINY
from provisioner.adapters.dnsmasq import DnsmasqOffers
from provisioner.hardware.blocks import BlockList
from provisioner.lab.description import describe
from provisioner.lab.dhcp_probe import dhcp_offer
from provisioner.lab.namespaces import argv_inside
from provisioner.lab.network import links, stranger
from provisioner.lab.probes import tcp_answers
from tests.rack.controls import Controls
from tests.rack.main_job import disk_bytes
from tests.rack.main_job.service import planned
from tests.rack.test_lab import STATUS_FORM, has_form

pytestmark = pytest.mark.rack
POSED = "10.66.0.250/24"
SERVICE_FORM = STATUS_FORM["service"]
BUTTONS = {
    "boot network once bios": "boot pxe",
    "boot disk once bios": "boot disk",
    "power on": "power 1",
    "power off": "power 0",
}
"""Our words and those of ipmi_sim for the same thing."""


@pytest.fixture(autouse=True)
def _in_order(story):
    if story.broken:
        pytest.fail(f"not told: the story ended with {story.broken}", pytrace=False)


def power_log(story, name, operation, key):
    """What the controller itself wrote down during an operation: "told", or "event"."""
    path = story.rack.paths.power_log(story.server(name))
    text = path.read_text() if path.exists() else ""
    lines = [json.loads(line) for line in text.splitlines()]
    times = (operation["opened_at"], operation["ended_at"])
    return [line[key] for line in lines if key in line and times[0] <= line["at"] <= times[1]]


def pressed(calls):
    """Of our calls those that a controller acts upon."""
    return [text for door, text in calls if door == "controller" and text in BUTTONS]


def enrol(story, name):
    """By a manifest of its own, after the dry run; the plan, and the verification that it was."""
    manifest = str(story.site.manifest([story.server(name)]))
    plan = planned(story.site.ask("server", "enrol", manifest, "--dry-run"))
    assert name not in {each["name"] for each in story.site.ask("server", "list")["servers"]}
    story.site.command("server", "enrol", manifest)
    return plan, story.service.wait_for_end(name, "verify")


def test_rack_and_service_rise_and_rising_again_changes_nothing(story):
    story.site.ready()
    running = story.rack.processes()
    # before any server was ever on: one disk carries a partition table, all others nothing
    table = ["sgdisk", "-n", "1:2048:0", str(story.disk("SATA-bios1"))]
    subprocess.run(table, check=True, capture_output=True)

    story.site.ready()

    assert story.rack.processes() == running
    document = describe(story.rack)
    assert has_form(document, STATUS_FORM | {"service": SERVICE_FORM})
    assert document["service"]["pid"] == running["rackwright"].pid


def test_the_entry_and_a_payload_of_the_lab_make_a_verb(story, tmp_path):
    payload = tmp_path / "payload.json"
    payload.write_text(story.site.command("lab", "payload", "status", "nobody"))

    argv = [*describe(story.rack)["entry"], "status", str(payload), "30"]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True)

    assert json.loads(ended.stdout)["power_state"] == "PowerUnknown"
    assert ended.stderr == ""


def test_a_server_found_on_is_verified_as_the_dry_run_said_and_left_alone(story):
    controls = Controls(story.rack, story.server("uefi1"))
    controls.turn("on")

    plan, verified = enrol(story, "uefi1")

    assert story.service.calls_of(verified) == plan
    assert power_log(story, "uefi1", verified, "event") == []
    server = story.service.server("uefi1")
    assert server["state"] == "ENROLLED"
    assert "found switched on" in server["reason"]
    assert controls.power() == "on"
    assert links(story.rack.layout.rack)["tap-uefi1"].master is None


def test_a_server_found_off_is_verified_as_the_dry_run_said(story):
    plan, verified = enrol(story, "bios1")

    assert verified["status"] == "done"
    assert story.service.calls_of(verified) == plan
    assert power_log(story, "bios1", verified, "told") == []


def test_provide_inspects_the_server_found_on_as_the_dry_run_said(story):
    plan = planned(story.site.ask("server", "provide", "uefi1", "--dry-run"))
    story.site.command("server", "provide", "uefi1")

    inspected = story.service.wait_for_end("uefi1", "inspect")

    assert inspected["status"] == "done", inspected
    assert story.service.calls_of(inspected) == plan
    assert power_log(story, "uefi1", inspected, "event") == ["off", "on", "off"]


def test_a_disk_with_a_partition_table_waits_for_a_person_and_is_erased_as_the_dry_run_said(story):
    inspected = story.service.wait_for_end("bios1", "inspect")
    assert inspected["ending"] == "person"
    story.service.wait_for_end("bios1", "quarantine")
    server = story.service.server("bios1")
    assert (server["state"], server["power"]["power"]) == ("QUARANTINED", "off")
    assert "--erase SATA-bios1" in server["reason"]

    said = ("server", "provide", "bios1", "--erase", "SATA-bios1")
    plan = planned(story.site.ask(*said, "--dry-run"))
    story.site.command(*said)
    cleaned = story.service.wait_for_end("bios1", "clean")

    assert cleaned["status"] == "done", cleaned
    made = story.service.calls_of(cleaned)
    assert made == plan
    told = [line for line in power_log(story, "bios1", cleaned, "told") if "identify" not in line]
    assert told == [BUTTONS[text] for text in pressed(made)]
    assert story.disk("SATA-bios1").read_bytes().count(0) == story.disk("SATA-bios1").stat().st_size


def test_both_servers_are_available_with_their_first_evidence(story):
    story.job.available()

    for name in ("bios1", "uefi1"):
        assert not story.service.server(name)["dirty"]


def test_imported_images_are_the_files_they_were_made_from(story):
    wide = story.import_wide()

    images = {each["name"]: each for each in story.site.ask("image", "list")["images"]}
    blobs = story.rack.paths.blobs / "images"
    assert (blobs / "wide" / "image.raw").read_bytes() == wide.read_bytes()
    for name, image in images.items():
        blocks = BlockList.from_text((blobs / name / "blocks.json").read_bytes())
        assert image["root"] == blocks.root
        assert image["image_bytes"] == (blobs / name / "image.raw").stat().st_size


def test_create_deploys_both_servers_at_once(story):
    # neither lab nor service writes a disk's file from outside; this stands for a disk that
    # comes back with other bytes than it was wiped to
    disk_bytes.fill(story.disk("SATA-uefi1"))
    story.job.images = (TINY, "wide")

    story.job.prepare()
    story.job.create()
    story.job.first_login()


def test_the_deployment_keeps_its_console_from_the_power_on_to_the_systems_sign(story):
    """Over the controller; the serial log says what there was to hear."""
    deployed = story.service.newest("bios1", "deploy")
    folder = story.rack.paths.service / "operations" / deployed["id"]
    kept = (folder / "console.log").read_text(errors="replace")

    for text in ("iPXE", "called in as bios1", "RACKWRIGHT-TINY-READY"):
        assert text in kept
    logged = set(story.console("bios1").text().split())
    words = kept.split()
    assert sum(word in logged for word in words) > 0.95 * len(words)


def test_every_byte_of_the_disk_is_the_images_or_untouched(story):
    """Compared while the system runs: the tiny one lives in memory and writes no disk."""
    image = (story.rack.paths.blobs / "images" / "wide" / "image.raw").read_bytes()

    assert disk_bytes.differences(story.disk("SATA-uefi1"), image) == []


def test_host_name_address_user_data_and_status_are_as_cloudstack_has_them(story):
    story.job.contents()
    story.job.status()


def test_no_tenant_reaches_the_provisioning_side_or_another_tenant(story):
    story.job.isolation()

    with stranger(story.rack.layout, "br-prov", address=POSED) as neighbour:
        for port in (8443, 8080, 8081):
            assert tcp_answers(neighbour, "10.66.0.1", port)
        assert subprocess.run(argv_inside(neighbour, TFTP), check=False).returncode == 0
    for guest in story.job.guests:
        said = guest.tenant.run(
            f"ip addr add {POSED} dev eth0; timeout 8 {' '.join(TFTP)} && echo yes || echo no;"
            f" ip addr del {POSED} dev eth0"
        )
        assert said.split()[-1] == "no"


TFTP = ("busybox", "tftp", "-g", "-l", "/dev/null", "-r", "undionly.kpxe", "10.66.0.1")


def test_a_tenants_system_gets_no_lease_where_the_same_address_gets_one(story):
    """The server's own MAC, which DHCP is told to answer while this is looked at."""
    rack, (alpha, _) = story.rack, story.job.guests
    mac = alpha.spec().mac
    offers = DnsmasqOffers(hosts=rack.paths.hosts, log=rack.paths.dhcp_log)
    asyncio.run(offers.offer(mac, alpha.spec().name))
    try:
        assert dhcp_offer(rack.layout, "br-prov", mac) is not None
        ask = "udhcpc -f -n -q -t 3 -T 1 -i eth0 -s /bin/true 2>&1; echo ended $?"
        said = alpha.tenant.run(ask)
    finally:
        asyncio.run(offers.withdraw(mac))
    assert said.split()[-2:] == ["ended", "1"], said


def test_what_the_tenants_write_is_found_on_their_disks(story):
    story.job.mark()


def test_reboot_stop_and_start(story):
    story.job.reboot()
    story.job.stop()
    for name in ("bios1", "uefi1"):
        assert links(story.rack.layout.rack)[f"tap-{name}"].master is None
    story.job.start()


def test_delete_wipes_both_servers_although_the_service_is_killed_in_the_middle(story):
    story.job.delete()
    names = [guest.spec().name for guest in story.job.guests]
    for name in names:
        story.service.wait_for_stage(name, "release", "agent-called-in")
    killed = {name: story.service.open_operations(name)[0]["id"] for name in names}
    story.service.kill()
    story.service.start()

    story.job.wiped()

    for identifier in killed.values():
        released = story.service.operation(identifier)
        assert (released["kind"], released["status"]) == ("release", "done")
        assert max(stage["beginnings"] for stage in released["stages"]) == 2


def test_no_canary_is_left_and_the_evidence_verifies_offline(story):
    story.job.scan()
    story.job.evidence()
