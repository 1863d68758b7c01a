"""What the tables are written with: the register of all, and columns that recur."""

from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy import Boolean, CheckConstraint, Column, Text

META = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

JSON = sa.JSON(none_as_null=True)


def one_of(column: str, values: type[StrEnum]) -> CheckConstraint:
    """The column holds the value of a member."""
    names = ", ".join(f"'{each.value}'" for each in values)
    return CheckConstraint(f"{column} IN ({names})", name=column)


def flag(name: str) -> Column[bool]:
    """Yes or no, no where nothing is said."""
    return Column(name, Boolean(name=name, create_constraint=True), nullable=False, default=False)


def text(name: str) -> Column[str]:
    """A text, "" where nothing is said."""
    return Column(name, Text, nullable=False, default="")
