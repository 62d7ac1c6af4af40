"""What garbage collections look at where many logs are in use."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.log.log import Log
from tests.log.directory.test_manager import started
from tests.log.logs import append

MANY = 300


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Collect what others have left, and then nothing before the test ends."""
    gc.collect()
    gc.disable()
    yield
    gc.unfreeze()
    gc.enable()


def logs_in_memory() -> int:
    return sum(type(thing) is Log for thing in gc.get_objects())


@pytest.mark.usefixtures("no_collection")
def test_many_logs_are_not_looked_at_until_the_broker_begins_anew(tmp_path: Path) -> None:
    manager = started(tmp_path, *range(MANY))
    gc.freeze()
    for partition in range(MANY):
        append(manager.get("t", partition))
    assert logs_in_memory() == MANY - 256
    manager.long_lived.release()
    assert logs_in_memory() >= MANY
    manager.close()


@pytest.mark.usefixtures("no_collection")
def test_few_logs_leave_collections_as_they_are(tmp_path: Path) -> None:
    manager = started(tmp_path, 0)
    gc.freeze()
    frozen = gc.get_freeze_count()
    append(manager.get("t", 0))
    manager.long_lived.release()
    assert gc.get_freeze_count() == frozen
    manager.close()


@pytest.mark.usefixtures("no_collection")
def test_a_deleted_log_is_freed_without_a_collection(tmp_path: Path) -> None:
    """Else what is kept out of collections would stay for ever."""
    before = logs_in_memory()
    manager = started(tmp_path, *range(MANY))
    for partition in range(MANY):
        append(manager.get("t", partition))
        manager.delete("t", partition)
    manager.chores.work(3 * MANY)
    gc.unfreeze()
    assert logs_in_memory() == before
    manager.close()
