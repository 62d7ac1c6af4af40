from pathlib import Path

import pytest

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.read.options import ReadOptions, View
from broker_lite.pipeline.read.plan import plan
from broker_lite.pipeline.views.table import read_view, view_schema
from tests.pipeline.support import Partition, numbered

IO = LocalFileIO()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A partition of 30 records in three batches and three segments, each with its indexes."""
    root = tmp_path_factory.mktemp("logs")
    with Partition(root, index_interval_bytes=1) as partition:
        for first in (0, 10, 20):
            partition.append(numbered(10, first=first))
            partition.roll()
    return root


def options(root: Path, **given: str) -> ReadOptions:
    return ReadOptions.parse({"path": str(root), **given})


@pytest.mark.parametrize("view", list(View))
def test_what_is_read_has_the_schema_that_was_told(root: Path, view: View) -> None:
    chosen = options(root, view=view)
    (split,) = plan(IO, str(root), chosen)
    read = list(read_view(IO, split, chosen))
    assert read
    assert all(batch.schema == view_schema(chosen) for batch in read)


@pytest.mark.parametrize(
    ("view", "count"), [(View.RECORDS, 30), (View.BATCHES, 3), (View.INDEX, 3)]
)
def test_what_a_row_is(root: Path, view: View, count: int) -> None:
    chosen = options(root, view=view, columns="partition,topic")
    (split,) = plan(IO, str(root), chosen)
    rows = [row for batch in read_view(IO, split, chosen) for row in batch.to_pylist()]
    assert rows == [{"partition": 0, "topic": "topic"}] * count


@pytest.mark.parametrize("view", list(View))
def test_every_view_tells_its_columns(root: Path, view: View) -> None:
    with pytest.raises(ValueError, match=r"^columns: there is no none, only .*topic"):
        view_schema(options(root, view=view, columns="none"))


def test_headers_are_a_column_of_records_only(root: Path) -> None:
    assert "headers" in view_schema(options(root, includeHeaders="true")).names
    assert "headers" not in view_schema(options(root, includeHeaders="true", view="batches")).names
