"""Finds the table of a format, and tells which package is missing."""

import os
import re
from importlib.util import find_spec
from typing import Final

from broker_lite.pipeline.spark.lake.table import LakeError, LakeTable

DELTA: Final = "delta"
ICEBERG: Final = "iceberg"

PACKAGES: Final = {DELTA: "deltalake", ICEBERG: "pyiceberg"}
_URI: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")


def open_table(target: str, table_format: str, catalog: str | None = None) -> LakeTable:
    """Open a table that an export made.

    Args:
        target: a directory or URI; with a catalog, the name of a table.
        table_format: delta or iceberg.
        catalog: for iceberg, a name of pyiceberg's configuration.

    Raises:
        LakeError: the package of the format is missing, or the target does not fit the format.
        FileNotFoundError: there is no table.
    """
    place = _checked(target, table_format, catalog)
    if table_format == DELTA:
        from broker_lite.pipeline.spark.lake.delta import DeltaLake

        return DeltaLake.open(place)
    from broker_lite.pipeline.spark.lake.iceberg import IcebergLake

    return IcebergLake.open(place, catalog)


def open_or_create_table(target: str, table_format: str, catalog: str | None = None) -> LakeTable:
    """Open a table; make it if it is not there. The arguments are those of open_table().

    Raises:
        LakeError: the package of the format is missing, or the target does not fit the format.
    """
    place = _checked(target, table_format, catalog)
    if table_format == DELTA:
        from broker_lite.pipeline.spark.lake.delta import DeltaLake

        return DeltaLake.open_or_create(place)
    from broker_lite.pipeline.spark.lake.iceberg import IcebergLake

    return IcebergLake.open_or_create(place, catalog)


def _checked(target: str, table_format: str, catalog: str | None) -> str:
    """Return the absolute place of a table, or its name in a catalog."""
    if find_spec(PACKAGES[table_format]) is None:
        raise LakeError(
            f"format {table_format}: the package {PACKAGES[table_format]} is missing:"
            " pip install 'broker-lite[lake]'"
        )
    if catalog is not None:
        if table_format != ICEBERG:
            raise LakeError(f"format {table_format}: a catalog is for iceberg")
        if "." not in target:
            raise LakeError(f"{target}: with a catalog, the target is NAMESPACE.TABLE")
        return target
    if _URI.match(target) is None:
        return os.path.abspath(target)
    if table_format == ICEBERG:
        raise LakeError(f"{target}: an Iceberg table that is no local directory needs --catalog")
    return target.rstrip("/")
