"""The order `erase`: all methods of all disks, disks side by side."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from provisioner.agent.canaries import Canaries
from provisioner.agent.eraser import Bench, DiskEraser
from provisioner.agent.order import Link, OrderFailedError
from provisioner.agent.tally import Tally
from provisioner.agent.targets import Target, find_targets
from provisioner.agent.tool import RunTool, run_tool
from provisioner.wipe.orders import DiskToErase, ErasedDisk, EraseOrder, Erasures

Job = tuple[Target, DiskToErase]


def erase(parameters: Mapping[str, Any], link: Link) -> dict[str, Any]:
    """Erase every disk of the order; the result is `Erasures`, whatever became of each.

    Whether that proves anything is decided by the service, not here.

    Raises:
        OrderFailedError: A disk is not there, is not the server's own, or the order is
            malformed; nothing was written.
    """
    try:
        order = EraseOrder.from_json(parameters)
        bytes.fromhex(order.key)
    except ValueError as error:
        raise OrderFailedError("ORDER_MALFORMED", f"order erase: {error}") from None
    targets = find_targets([each.disk for each in order.disks])
    link.journal(f"erasing {len(targets)} disks")
    erasures = erase_targets(order, targets, link, run_tool)
    for disk in erasures.disks:
        for run in disk.runs:
            link.journal(f"{disk.path} {run.method}: {run.status} {run.text}".rstrip())
    return erasures.to_json()


def erase_targets(
    order: EraseOrder,
    targets: Sequence[Target],
    link: Link,
    run: RunTool,
    *,
    pause: Callable[[float], None] = time.sleep,
) -> Erasures:
    """All units at once, each in a thread; the disks of one unit one after the other.

    Args:
        order: What to do.
        targets: Its disks, in its order.
        link: For progress.
        run: Runs the tools.
        pause: Waits between two looks at a disk's own log.
    """
    jobs = list(zip(targets, order.disks, strict=True))
    total = sum(job.disk.bytes * len(job.methods) for job in order.disks)
    bench = Bench(run=run, tally=Tally(link, total), begun=time.monotonic(), pause=pause)
    units = [[job for job in jobs if job[0].unit == unit] for unit in _units(targets)]
    with ThreadPoolExecutor(max(1, len(units))) as pool:
        ended = pool.map(lambda unit: _erase_unit(unit, order, bench), units)
        by_path = {disk.path: disk for unit in ended for disk in unit}
    return Erasures(disks=tuple(by_path[target.path] for target in targets))


def _erase_unit(jobs: Sequence[Job], order: EraseOrder, bench: Bench) -> list[ErasedDisk]:
    erasers = [DiskEraser(target, _canaries(order, target), bench) for target, _ in jobs]
    erased = [eraser.erase(job.methods) for eraser, (_, job) in zip(erasers, jobs, strict=True)]
    return [eraser.zero_edges(disk) for eraser, disk in zip(erasers, erased, strict=True)]


def _canaries(order: EraseOrder, target: Target) -> Canaries:
    key = bytes.fromhex(order.key)
    return Canaries(key=key, disk=target.reference.label(), count=order.canaries)


def _units(targets: Sequence[Target]) -> list[str]:
    return list(dict.fromkeys(target.unit for target in targets))
