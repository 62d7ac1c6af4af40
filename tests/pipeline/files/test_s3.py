"""Logs in an object store: an S3 server that others wrote, by its real protocol."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from broker_lite.pipeline.audit.task import audit
from broker_lite.pipeline.audit.whole import audit_tasks, small_files
from broker_lite.pipeline.files.log_root import sweep
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.ranges import find_logs
from broker_lite.pipeline.stream.planned import plan_settled, read_planned
from broker_lite.pipeline.write.commit import commit
from broker_lite.pipeline.write.options import WriteOptions
from broker_lite.pipeline.write.row_writer import RowWriter, WritePlan
from tests.pipeline.support import Partition, damage, numbered


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """What comes behind s3://logs/NAME in a URI; the bucket is there."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "of-a-test")
        where = f"?scheme=http&endpoint_override={host}:{port}&region=us-east-1"
        file_system, _ = fs.FileSystem.from_uri(f"s3://logs{where}&allow_bucket_creation=true")
        file_system.create_dir("logs")
        yield where
    server.stop()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three segments with an aborted transaction."""
    with Partition(tmp_path, index_interval_bytes=100) as partition:
        partition.append(numbered(5), codec=3)
        partition.append(numbered(2), producer_id=7, is_transactional=True)
        partition.roll()
        partition.end_transaction(7, commit=False)
        partition.roll()
        partition.append(numbered(3))
    return tmp_path


def upload(root: Path, name: str, where: str) -> str:
    uri = f"s3://logs/{name}{where}"
    file_system, path = fs.FileSystem.from_uri(uri)
    fs.copy_files(str(root), path, destination_filesystem=file_system)
    return uri


def rows(path: str, **given: str) -> list[dict[str, Any]]:
    options = ReadOptions.parse({"path": path} | given)
    io, root = open_file_io(path)
    splits = plan_settled(io, root, options)
    found = (one for split in splits for one in read_planned(io, split, options))
    return [row | {"file": None} for one in found for row in one.to_pylist()]


def test_it_is_read_as_local_files_are(root: Path, bucket: str) -> None:
    uri = upload(root, "read", bucket)
    for given in ({}, {"isolationLevel": "read_committed"}, {"view": "batches"}, {"view": "index"}):
        found = rows(uri, maxSplitBytes="100", **given)
        assert found == rows(str(root), **given)
        assert found


def test_it_is_verified(root: Path, bucket: str) -> None:
    damage(min(root.glob("*/*.log")), 100)
    uri = upload(root, "verified", bucket)
    io, path = open_file_io(uri)
    logs = find_logs(io, path, ReadOptions.parse({"path": uri}))
    audits = [audit(io, task) for task in audit_tasks(io, uri, logs, {}, max_split_bytes=1 << 20)]
    found = [one for each in audits for one in each.findings]
    assert [(one.file, one.position, one.rule) for one in found] == [
        (f"logs/verified/topic-0/{0:020}.log", 0, "R-06")
    ]
    assert list(small_files(io, path, logs, audits)) == []


def test_it_is_written_and_appended_to(bucket: str) -> None:
    options = WriteOptions.parse({"path": f"s3://logs/written{bucket}", "topic": "topic"})
    io, path = open_file_io(options.path)
    for job in ("first-", "second-"):
        plan = WritePlan.make(io, path, options, job)
        writer = RowWriter(plan, "attempt", first_unkeyed=0)
        writer.write(pa.record_batch({"value": [b"a", b"b", None]}))
        commit(io, path, writer.close())
        sweep(io, path, plan.job)
    found = rows(options.path)
    assert [(row["offset"], row["value"]) for row in found] == list(
        enumerate([b"a", b"b", None] * 2)
    )
    assert not [info.name for info in io.list(f"{path}/topic-0") if "deleted" in info.name]


def test_what_is_not_there(bucket: str) -> None:
    with pytest.raises(FileNotFoundError, match="logs/nowhere"):
        rows(f"s3://logs/nowhere{bucket}")
    with pytest.raises(OSError, match="NO_SUCH_BUCKET"):
        rows(f"s3://none/nowhere{bucket}")
