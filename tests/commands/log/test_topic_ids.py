"""S-75: `log repair --topic-ids`, for directories with another id than the metadata log's."""

from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.directory.partitions import make_directory, stored_topic_id
from broker_lite.log.files.checkpoints import format_uuid
from tests.commands.log.test_transfer import content, log, opened, source
from tests.support.command_line import CommandLine

__all__ = ["log", "source"]  # fixtures

OTHER_ID = bytes(range(1, 17))


@pytest.fixture
def changed(source: Path) -> Path:
    """A directory whose `orders-0` names another topic id; a broker has it offline."""
    make_directory(str(source / "orders-0"), OTHER_ID)
    (source / "loose").mkdir()
    (source / "gone-0").mkdir()
    (source / "empty-0" / "partition.metadata").unlink()
    return source


@pytest.mark.parametrize("arguments", [(), ("--dry-run",)])
def test_s75_repair_reports_a_difference_and_leaves_it(
    log: CommandLine, changed: Path, arguments: tuple[str, ...]
) -> None:
    code, out, _ = log("repair", str(changed), *arguments)
    assert code == (0 if arguments else 1)
    assert f"orders-0: topic id {format_uuid(OTHER_ID)}, in the metadata log " in out
    assert stored_topic_id(str(changed / "orders-0")) == OTHER_ID
    cluster = opened(changed)
    with pytest.raises(errors.KafkaStorageError):
        cluster.log("orders", 0)
    cluster.close()


def test_s75_repair_adopts_the_records(log: CommandLine, changed: Path) -> None:
    out = log.ok("repair", str(changed), "--topic-ids", "adopt")
    assert "changed to that of the metadata log" in out
    assert content(changed)[:2] == (3, 8)


def test_s75_repair_puts_the_records_aside(log: CommandLine, changed: Path) -> None:
    out = log.ok("repair", str(changed), "--topic-ids", "put-aside")
    (aside,) = changed.glob("orders-0.*-stray")
    assert aside.name in out
    assert stored_topic_id(str(aside)) == OTHER_ID
    assert content(changed) == (0, 0, 0)
