"""A CloudStack's user, an operator and a machine: registered, deployed, acted upon, given back.

The user calls CloudStack's API alone. Each test is one chapter on what the ones before left.
"""

import base64
import sqlite3
from contextlib import closing

import pytest

from cloudstack_ext.lab.guest import READY
from provisioner.lab.layout import HTTPS_PORT, PROVISIONING
from tests.rack.controls import Controls
from tests.rack.main_job.service import until

pytestmark = pytest.mark.rack_long
FIRST, SECOND = b"#cloud-config\n# as it was\n", b"#cloud-config\n# another\n"
GAP = 512 << 10
"""Of the root disk: between partition table and first partition, where the image has zeros."""
MARK = "a tenant wrote this"


@pytest.fixture(autouse=True)
def _in_order(story):
    if story.broken:
        pytest.fail(f"not told: the story ended with {story.broken}", pytrace=False)


def is_up(story, since):
    story.console.wait_for(READY, since=since, within_s=600)
    until(story.tenant.answers, "a login", within_s=300)


def disks(story):
    """(root, data): the smallest NVMe is the root disk."""
    found = [name for name, _ in story.tenant.disks()]
    root = next(name for name in found if "nvme" in name)
    return root, next(name for name in found if name != root)


def write(story, disk):
    story.tenant.run(
        f"dd of={disk} bs=4096 seek={GAP // 4096} conv=notrunc,fsync 2> /dev/null",
        given=MARK.encode(),
    )


def marked(story, disk):
    command = f"dd if={disk} bs=4096 skip={GAP // 4096} count=1 2> /dev/null"
    return story.tenant.run(f"{command} | tr -d '\\0'") == MARK


def differences(story):
    (site,) = story.service.get("/v1/differences")["sites"]
    assert site["doubt"] == "", site
    return site["differences"]


def owner(story):
    query = "SELECT owner FROM allocation WHERE instance = ?"
    with closing(sqlite3.connect(story.rack.paths.service / "rackwright.db")) as connection:
        return connection.execute(query, (story.instance.uuid,)).fetchone()[0]


def test_an_administrator_registers_everything_with_one_plan(story):
    story.site.up()
    story.start_cloud()
    assert story.cloudstack("plan")["steps"]
    story.cloudstack("apply")
    assert story.cloudstack("plan")["steps"] == []
    story.cloudstack("service-key")
    story.service.wait_for_state("bios1", "AVAILABLE")


def test_a_user_deploys_and_the_service_asks_cloudstack_what_was_bought(story):
    with story.cloud.state.lock:
        story.cloud.state.keypairs["mine"] = story.key.with_suffix(".pub").read_text().strip()
        (network,) = story.cloud.state.networks
    template = story.api("listTemplates", templatefilter="executable", name="Tiny")["template"]
    offering = story.api("listServiceOfferings", name="bm.lab")["serviceoffering"]
    since = story.console.mark()
    deployed = story.api(
        "deployVirtualMachine", zoneid=template[0]["zoneid"], templateid=template[0]["id"],
        serviceofferingid=offering[0]["id"], networkids=network, name="alpha", keypair="mine",
        userdata=base64.b64encode(FIRST).decode(), fetch_result=True,
    )["virtualmachine"]  # fmt: skip
    assert deployed["state"] == "Running"
    story.tenant.connect()
    is_up(story, since)
    assert story.tenant.user_data() == FIRST
    for disk in disks(story):
        write(story, disk)
        assert marked(story, disk)


def test_what_a_tenant_asks_is_answered_and_names_no_part_of_the_machine(story):
    assert story.items("why")["state"] == "installed, wanted on"
    assert story.items("progress")["state"] == "done"
    assert any(story.action("console-log"))
    assert story.items("hardware-inventory")["firmware"] == "bios"
    assert {row["result"] for row in story.action("health-check")} <= {"ok", "unknown"}
    assert "bios1" not in str(story.action("hardware-inventory"))


def test_the_statement_of_the_wipe_before_is_verified_with_the_providers_key(story):
    file = story.folder / "statement.json"
    file.write_text(story.items("certificate")["statement"])
    key = story.rack.paths.service / "evidence.pub"
    story.site.command("evidence", "verify", str(file), "--key", str(key))


def test_the_three_views_are_equal_and_a_new_owner_is_taken_over(story):
    until(lambda: differences(story) == [], "no difference", within_s=60, every_s=1)
    assert owner(story).endswith("/alice")
    with story.cloud.state.lock:
        bob = next(each for each in story.cloud.state.accounts.values() if each.name == "bob")
        alice, story.kept().account = story.kept().account, bob.id
    until(lambda: owner(story).endswith("/bob"), "a new owner", within_s=60)
    with story.cloud.state.lock:
        story.kept().account = alice
    assert Controls(story.rack, story.rack.layout.servers[0]).power() == "on"


def test_a_reseed_hands_out_new_user_data_and_leaves_the_disks_alone(story):
    story.api(
        "updateVirtualMachine", id=story.instance.uuid, userdata=base64.b64encode(SECOND).decode()
    )
    since = story.console.mark()
    assert story.items("reseed")["operation"]
    assert story.ended()["state"] == "done"
    is_up(story, since)
    assert story.tenant.user_data() == SECOND
    assert all(marked(story, disk) for disk in disks(story))


def test_a_rescue_system_runs_in_the_tenants_network_until_a_reboot_ends_it(story):
    since = story.console.mark()
    assert story.items("rescue")["operation"]
    assert story.ended()["state"] == "done"
    until(story.tenant.answers, "a login into the rescue system", within_s=120)
    assert "/dev/nvme" not in story.tenant.run("cat /proc/mounts")
    assert story.tenant.run("hostname").strip() == "alpha"
    assert all(marked(story, disk) for disk in disks(story))
    agent = f"{PROVISIONING.ip}:{HTTPS_PORT}"
    assert story.tenant.looks([agent]) == {agent: False}
    assert story.service.state("bios1") == "RESCUE"
    assert story.items("rescue")["host key"] in story.console.text(since)

    since = story.console.mark()
    story.api("rebootVirtualMachine", id=story.instance.uuid, fetch_result=True)
    is_up(story, since)
    assert story.service.state("bios1") == "ACTIVE"
    assert story.tenant.user_data() == SECOND


def test_a_reinstall_writes_the_root_disk_alone(story):
    refused = story.action("reinstall", confirm="beta")
    assert "PAYLOAD_FIELD" in refused
    since = story.console.mark()
    assert story.items("reinstall", confirm="alpha", image="Ubuntu")["operation"]
    assert story.ended()["state"] == "done"
    is_up(story, since)
    root, data = disks(story)
    assert not marked(story, root)
    assert marked(story, data)
    assert story.tenant.user_data() == SECOND


def test_a_machine_that_somebody_switched_off_is_a_named_difference(story):
    Controls(story.rack, story.rack.layout.servers[0]).turn("off")
    until(lambda: differences(story), "a difference", within_s=300, every_s=2)
    (one,) = differences(story)
    assert one["instance"] == story.instance.uuid
    assert one["cause"]
    assert one["remedy"]


def test_a_deleted_instance_leaves_a_wiped_server_and_a_registration_that_can_be_taken_back(story):
    story.api("destroyVirtualMachine", "admin", id=story.instance.uuid, expunge=True,
              fetch_result=True)  # fmt: skip
    story.service.wait_for_state("bios1", "AVAILABLE")
    story.cloudstack("unregister")
    assert not story.cloud.state.extensions
