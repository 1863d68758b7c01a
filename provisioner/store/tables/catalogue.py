"""What operators keep: pools, and the images that they name."""

import sqlalchemy as sa
from sqlalchemy import Column, Float, Integer, Text

from provisioner.store.tables.columns import JSON, META

POOL = sa.Table(
    "pool",
    META,
    Column("name", Text, primary_key=True),
    Column("images", JSON, nullable=False),
    Column("min_cpu_threads", Integer, nullable=False),
    Column("min_memory_bytes", sa.BigInteger, nullable=False),
    Column("min_gpus", Integer, nullable=False),
    Column("policy", JSON, nullable=False),
)

IMAGE = sa.Table(
    "image",
    META,
    Column("name", Text, primary_key=True),
    Column("root", Text, nullable=False),
    Column("image_bytes", sa.BigInteger, nullable=False),
    Column("data_bytes", sa.BigInteger, nullable=False),
    Column("block_bytes", Integer, nullable=False),
    Column("logical_sector_bytes", Integer, nullable=False),
    Column("source_format", Text, nullable=False),
    Column("imported_at", Float, nullable=False),
    Column("folder", Text, nullable=False),
)
