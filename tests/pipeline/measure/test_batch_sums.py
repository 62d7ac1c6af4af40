"""What the headers of batches add up to, whatever the tasks."""

from pathlib import Path

from broker_lite.pipeline.measure.batch_sums import COLUMNS, FORMS, add_batches, batch_sums
from broker_lite.pipeline.measure.sums import Tables
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.stream.planned import plan_query
from tests.pipeline.support import T0, NewRecord, Partition, damage, numbered


def write_log(root: Path) -> None:
    with Partition(root, "orders", 0, segment_bytes=500) as log:
        for number in range(4):
            log.append(numbered(5), producer_id=7, is_transactional=True)
            log.end_transaction(7, commit=number != 1)
    with Partition(root, "orders", 1) as log:
        log.append([NewRecord(b"k", b"v", timestamp_ms=T0 - 90)] * 2, log_append_time_ms=T0)
    with Partition(root, "damaged", 0) as log:
        log.append(numbered(3))
        log.append(numbered(3))
    damage(next(root.glob("damaged-0/*.log")), 16)


def sums(root: Path, *, together: bool, split_bytes: str = "300") -> Tables:
    given = {"path": str(root), "view": "batches", "columns": ",".join(COLUMNS)}
    own = {"checkcrc": "false", "oncorrupt": "report", "maxsplitbytes": split_bytes}
    options = ReadOptions.parse({**given, **own})
    splits = plan_query(options)
    assert len(splits) > 3
    steps = {("orders", 0): 6, ("orders", 1): 1}
    tasks = [splits] if together else [[split] for split in splits]
    return add_batches(batch_sums(options, steps, task) for task in tasks)


def rows(tables: Tables, name: str) -> list[dict[str, object]]:
    order = [(key, "ascending") for key in FORMS[name].keys]
    found: list[dict[str, object]] = tables[name].sort_by(order).to_pylist()
    return found


def test_any_number_of_tasks_finds_the_same(tmp_path: Path) -> None:
    write_log(tmp_path)
    one, many = sums(tmp_path, together=True), sums(tmp_path, together=False)
    assert one.keys() == many.keys() == FORMS.keys()
    for name in FORMS:
        assert rows(one, name) == rows(many, name), name


def test_what_is_added_up(tmp_path: Path) -> None:
    write_log(tmp_path)
    found = sums(tmp_path, together=True)
    assert [row["places"] for row in rows(found, "damage")] == [1]
    damaged, first, second = rows(found, "partitions")
    assert (damaged["topic"], damaged["records"]) == ("damaged", 3)
    assert (first["batches"], first["records"], first["recordCount"]) == (8, 20, 24)
    assert (first["firstOffset"], first["lastOffset"], first["uncounted"]) == (0, 23, 0)
    assert (second["firstMs"], second["lastMs"]) == (T0, T0)
    (producer,) = rows(found, "producers")
    assert (producer["batches"], producer["transactional"], producer["records"]) == (4, 4, 20)
    assert rows(found, "delays") == [{"topic": "orders", "delay": 90, "batches": 1}]
    assert [row["lastOffset"] for row in rows(found, "times")] == [5, 11, 17, 23, 1]
    assert sum(int(str(row["number"])) for row in rows(found, "batch_sizes")) == 10
    assert rows(found, "batch_records")[-1] == {"size": 8, "number": 4}


def test_nothing_is_read_of_no_splits(tmp_path: Path) -> None:
    options = ReadOptions.parse({"path": str(tmp_path), "view": "batches"})
    assert batch_sums(options, {}, []) == {}
