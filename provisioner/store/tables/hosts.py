"""GPU hosts."""

import sqlalchemy as sa
from sqlalchemy import Column, Float, Index, Integer, Text

from provisioner.store.tables.columns import JSON, META

HOST = sa.Table(
    "host",
    META,
    Column("name", Text, primary_key=True),
    Column("access", JSON),  # no secret: a key lies in a file, or in an agent
    Column("controller_host", Text),
    Column("controller_port", Integer),
    Column("cloudstack", JSON),
    Column("system_uuid", Text),  # as SMBIOS has it
    Column("machine_uuid", Text),  # the same in one spelling, as server.system_uuid
    Column("enrolled_at", Float, nullable=False),
    Column("enrolled_by", Text, nullable=False),
    Column("inspected_at", Float, nullable=False),
    Column("facts", Text, nullable=False),
    Column("bundle", sa.LargeBinary, nullable=False),
)
Index("uq_host_machine_uuid", HOST.c.machine_uuid, unique=True)
Index("uq_host_controller", HOST.c.controller_host, HOST.c.controller_port, unique=True)
