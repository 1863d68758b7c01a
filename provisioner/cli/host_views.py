"""What people see of a GPU host: facts, tree and findings, from JSON as programs get it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from provisioner.cli.output import moment, printable, show_record, show_table

Tree = Mapping[str, Any]
_MIB_A_GIB: Final = 1024
_INDENT: Final = "  "


def show_identity(host: Tree) -> None:
    """What is remembered besides the facts."""
    access, controller, cloud = host["access"], host["controller"], host["cloudstack"]
    target = access["target"] if access else None
    show_record(
        {
            "name": host["name"],
            "SSH": f"{target['user']}@{target['host']}:{target['port']}" if target else "",
            "host key": target["host_key"] if target else "",
            "jump": f"{access['jump']['user']}@{access['jump']['host']}"
            if access and access["jump"]
            else "",
            "controller": f"{controller['host']}:{controller['port']}" if controller else "",
            "CloudStack": f"{cloud['site']}/{cloud['uuid']}" if cloud else "",
            "enrolled": f"{moment(host['enrolled_at'])} by {host['enrolled_by']}",
            "inspected": moment(host["inspected_at"]),
        }
    )


def show_facts(facts: Tree) -> None:
    """A host in short: what it is, how it boots, its GPUs; JSON has all of it."""
    machine, cpu, boot = facts["machine"], facts["cpu"], facts["boot"]
    origin, agent = facts["origin"], facts["agent"]
    show_record(
        {
            "taken": f"{moment(origin['taken_at'])} by {origin['way']} {origin['sha256'][:16]}",
            "machine": _words(machine["maker"], machine["product"], machine["serial"]),
            "system uuid": said(machine["system_uuid"]),
            "BIOS": _words(machine["bios_version"], machine["bios_date"]),
            "BMC": said(machine["bmc_version"]),
            "firmware tables": said(machine["tables"]),
            "Secure Boot": said(machine["secure_boot"]),
            "processors": _words(cpu["sockets"], "x", cpu["model"])
            + f", {said(cpu['threads'])} threads",
            "memory": _nodes(cpu["nodes"]) or said(cpu["memory_mib"]),
            "system": said(facts["system"]["distribution"]),
            "kernel": said(boot["kernel"]),
            "kernel line": _joined(boot["command_line"], " "),
            "boot loader": _words(
                boot["loader"], boot["loader_evidence"] and f"({boot['loader_evidence']})"
            ),
            "initramfs": said(boot["initramfs_tools"]),
            "IOMMU": "on" if facts["iommu"]["enabled"] is True else said(facts["iommu"]["enabled"]),
            "agent": _words(agent["version"], "active" if agent["active"] is True else ""),
            "guests with devices": _guests(facts["domains"]),
        }
    )
    _show_gpus(facts)
    _show_others(facts)
    for each in facts["problems"]:
        click.echo(f"cannot be read: {printable(each['path'])}: {printable(each['text'])}")


def _show_gpus(facts: Tree) -> None:
    devices = {each["address"]: each for each in facts["pci"]}
    columns = ("GPU", "MODEL", "MEMORY", "DRIVER", "GROUP", "NUMA", "LINK", "VFS", "SLOT", "SERIAL")
    rows = []
    for gpu in facts["gpus"]:
        device = devices[gpu["address"]]
        rows.append(
            (
                gpu["address"],
                f"{gpu['vendor']} {said(gpu['model'])}",
                _memory(gpu),
                said(device["driver"], none="none"),
                said(device["iommu_group"], none="none"),
                said(device["numa_node"], none="none"),
                _link(device),
                _vfs(device),
                said(device["slot"]),
                said(gpu["tool"]["serial"]),
            )
        )
    if rows:
        show_table(columns, rows)
    else:
        click.echo("no GPU is seen")


def _show_others(facts: Tree) -> None:
    rows = [(each["address"], each["kind"], said(each["name"])) for each in facts["accelerators"]]
    if rows:
        show_table(("ADDRESS", "KIND", "NAME"), rows)


def show_tree(nodes: Sequence[Tree], depth: int = 0) -> None:
    """Places below each other."""
    for each in nodes:
        text = f"  {printable(each['text'])}" if each["text"] else ""
        click.echo(f"{_INDENT * depth}{printable(each['name'])}{text}")
        show_tree(each["below"], depth + 1)


def show_findings(findings: Sequence[Tree]) -> None:
    """One after the other, what blocks first."""
    for each in findings:
        click.echo(f"{each['weight']}  {printable(each['code'])}  {printable(each['subject'])}")
        for evidence in each["evidence"]:
            click.echo(f"  {printable(evidence['text'])}: {printable(evidence['says'])}")
        click.echo(f"  meaning: {printable(each['meaning'])}")
        click.echo(f"  remedy: {printable(each['remedy'])}")
    if not findings:
        click.echo("nothing is found")


def said(value: object, *, none: str = "") -> str:
    """A fact as people read it; "?" where it is not known."""
    if isinstance(value, Mapping) and value.keys() == {"unknown"}:
        return "?"
    if value is None:
        return none
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def _joined(value: object, between: str) -> str:
    return between.join(map(str, value)) if isinstance(value, list | tuple) else said(value)


def _words(*values: object) -> str:
    shown = [said(each) for each in values]
    return " ".join(each for each in shown if each) if set(shown) - {"?", "", "x"} else "?"


def _memory(gpu: Tree) -> str:
    found = gpu["memory_mib"]
    if not isinstance(found, int):
        return "?"
    return f"{found / _MIB_A_GIB:.0f} GiB" + ("" if gpu["memory_is_measured"] else " as sold")


def _link(device: Tree) -> str:
    now, most = device["link"], device["link_most"]
    if "width" not in now:
        return "?"
    limit = f" of x{most['width']}" if "width" in most and most["width"] != now["width"] else ""
    return f"x{now['width']}{limit}"


def _vfs(device: Tree) -> str:
    total = device["vfs_total"]
    return f"{said(device['vfs'])} of {total}" if isinstance(total, int) else said(total)


def _nodes(nodes: Sequence[Tree]) -> str:
    shown = [f"node {each['number']}: {said(each['memory_mib'])} MiB" for each in nodes]
    return ", ".join(shown)


def _guests(domains: object) -> str:
    if not isinstance(domains, list):
        return "?"
    having = [each for each in domains if each["devices"]]
    return ", ".join(f"{each['name']} ({len(each['devices'])})" for each in having)
