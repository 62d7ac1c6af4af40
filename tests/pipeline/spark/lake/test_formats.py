"""Which table a target means, and what is said when it cannot be one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from broker_lite.pipeline.spark.lake import formats
from broker_lite.pipeline.spark.lake.formats import open_or_create_table, open_table
from broker_lite.pipeline.spark.lake.table import LakeError


@pytest.mark.parametrize("table_format", ["delta", "iceberg"])
def test_a_table_is_made_once(tmp_path: Path, table_format: str) -> None:
    target = str(tmp_path / "new" / "table")
    with pytest.raises(FileNotFoundError):
        open_table(target, table_format)
    made = open_or_create_table(target, table_format)
    files = sorted(tmp_path.rglob("*"))
    for again in (open_or_create_table(target, table_format), open_table(target, table_format)):
        assert again.data_place == made.data_place == f"{target}/data"
        assert (again.held(), again.offsets([("a", 0)])) == ([], {})
    assert sorted(tmp_path.rglob("*")) == files


@pytest.mark.parametrize("table_format", ["delta", "iceberg"])
def test_a_missing_package_is_named(
    tmp_path: Path, table_format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(formats.PACKAGES, table_format, "no_such_package")
    told = r"the package no_such_package is missing: pip install 'broker-lite\[lake\]'"
    with pytest.raises(LakeError, match=told):
        open_or_create_table(str(tmp_path), table_format)


@pytest.mark.parametrize(
    ("target", "table_format", "catalog", "told"),
    [
        ("table", "delta", "mine", "a catalog is for iceberg"),
        ("table", "iceberg", "mine", "the target is NAMESPACE.TABLE"),
        ("s3://bucket/table", "iceberg", None, "needs --catalog"),
    ],
)
def test_targets_that_do_not_fit(
    target: str, table_format: str, catalog: str | None, told: str
) -> None:
    with pytest.raises(LakeError, match=told):
        open_table(target, table_format, catalog)


def test_a_table_of_a_catalog(tmp_path: Path) -> None:
    program = """
from broker_lite.pipeline.spark.lake.formats import open_or_create_table, open_table

try:
    open_table("lake.orders", "iceberg", "mine")
except FileNotFoundError as error:
    print(error)
made = open_or_create_table("lake.orders", "iceberg", "mine")
print(open_table("lake.orders", "iceberg", "mine").data_place == made.data_place)
"""
    settings = {  # pyiceberg reads them when it is imported
        "PYICEBERG_CATALOG__MINE__TYPE": "sql",
        "PYICEBERG_CATALOG__MINE__URI": f"sqlite:///{tmp_path}/mine.db",
        "PYICEBERG_CATALOG__MINE__WAREHOUSE": str(tmp_path),
    }
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | settings)
    assert done.stdout == "lake.orders: there is no Iceberg table\nTrue\n", done.stderr
