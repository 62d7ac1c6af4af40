"""Adds up the rows of Arrow tables by keys.

Sums have the columns of what they were made of, so the sums of several tasks are added up in the
same way.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

Tables = dict[str, pa.Table]
"""Tables of sums by name. A name that is missing stands for no rows."""


class Sums(NamedTuple):
    """How rows are added up.

    Attributes:
        keys: columns; rows with the same keys become one.
        columns: of numbers, each with what becomes of it: sum, min or max. Nulls do not count.
    """

    keys: tuple[str, ...]
    columns: Mapping[str, str]

    def of(self, *tables: pa.Table) -> pa.Table:
        """Add up at least one table that has these columns.

        Returns:
            The keys and the columns, as numbers of 64 bits, with the rows in no order.
        """
        rows = pa.concat_tables([self._chosen(table) for table in tables])
        grouped = rows.group_by([*self.keys]).aggregate([*self.columns.items()])
        arrays = [grouped.column(key) for key in self.keys]
        arrays += [grouped.column(f"{name}_{how}") for name, how in self.columns.items()]
        return pa.table(arrays, names=[*self.keys, *self.columns])

    def _chosen(self, table: pa.Table) -> pa.Table:
        arrays = [table.column(key) for key in self.keys]
        arrays += [table.column(name).cast(pa.int64()) for name in self.columns]
        return pa.table(arrays, names=[*self.keys, *self.columns])


def add_up(forms: Mapping[str, Sums], found: Iterable[Tables]) -> Tables:
    """Add up the tables of the same name.

    Args:
        forms: of the tables that are wanted.
        found: for instance the results of tasks.
    """
    by_name: dict[str, list[pa.Table]] = {name: [] for name in forms}
    for tables in found:
        for name in tables.keys() & forms.keys():
            by_name[name].append(tables[name])
    return {name: forms[name].of(*tables) for name, tables in by_name.items() if tables}


def counted_sizes(sizes: pa.ChunkedArray) -> pa.Table:
    """Count sizes rounded up to powers of two: size, number; null does not count."""
    known = sizes.drop_null().cast(pa.int64())
    powers = pc.power(2.0, pc.ceil(pc.log2(pc.max_element_wise(known, 1)))).cast(pa.int64())
    rounded = pc.if_else(pc.greater(known, 0), powers, known)
    counts = rounded.value_counts()
    return pa.table({"size": counts.field("values"), "number": counts.field("counts")})
