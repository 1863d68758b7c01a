"""Which GPU or accelerator an id is: a table of ours, distributions being years behind.

Standard library only. Source: pci.ids and makers' data, per docs/adr/0021.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Final

TABLE: Final = "gpu_models.csv"


class Kind(StrEnum):
    """What a function is for."""

    GPU = "gpu"
    NVSWITCH = "nvswitch"
    ACCELERATOR = "accelerator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One vendor:device.

    Attributes:
        model: As people say it, without the vendor.
        name: As pci.ids has it; "" where it has none.
        memory_mib: Of one PCI function, as it is sold; None where nobody says.
        products: What else is sold under this id, each by its name; () is one product.
        functions: PCI functions of one board that belong together.
    """

    ids: str
    kind: Kind
    model: str
    name: str
    memory_mib: int | None
    products: tuple[str, ...]
    functions: int


@cache
def models() -> Mapping[str, Model]:
    """All, by vendor:device."""
    text = resources.files("provisioner.hardware").joinpath(TABLE).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {row["ids"]: _model(row) for row in csv.DictReader(lines)}


def _model(row: Mapping[str, str]) -> Model:
    memory = row["memory_gib"]
    return Model(
        ids=row["ids"],
        kind=Kind(row["kind"]),
        model=row["model"],
        name=row["name"],
        memory_mib=int(memory) * 1024 if memory else None,
        products=tuple(row["products"].split("; ")) if row["products"] else (),
        functions=int(row["functions"]),
    )
