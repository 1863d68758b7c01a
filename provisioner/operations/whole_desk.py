"""All that operators can ask and say, as the listeners take it."""

from dataclasses import dataclass

from provisioner.operations.desk import (
    CatalogueDesk,
    OperationDesk,
    RecordDesk,
    ServerDesk,
    SiteKeyDesk,
)
from provisioner.operations.desk_differences import DifferenceDesk
from provisioner.operations.desk_hosts import HostDesk
from provisioner.operations.desk_registered import RegisteredDesk
from provisioner.operations.desk_registration_lease import LeaseDesk


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Part by part."""

    servers: ServerDesk
    operations: OperationDesk
    catalogue: CatalogueDesk
    records: RecordDesk
    registered: RegisteredDesk
    leases: LeaseDesk
    site_keys: SiteKeyDesk
    differences: DifferenceDesk
    hosts: HostDesk
