"""What full garbage collections look at while a broker runs."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.log.log import Log
from broker_lite.server.upkeep.survivors import Survivors
from tests.log.directory.test_manager import started
from tests.log.logs import append


class Thing:
    """Something that lives long."""


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Collect what others have left, and then only what the test asks for."""
    gc.collect()
    gc.disable()
    yield
    gc.unfreeze()
    gc.enable()


def seen(kind: type) -> int:
    """How many objects of a class a full collection would look at."""
    return sum(type(thing) is kind for thing in gc.get_objects())


@pytest.mark.usefixtures("no_collection")
def test_survivors_are_not_looked_at_again_until_they_are_released() -> None:
    things = [Thing() for _ in range(5)]
    survivors = Survivors()
    survivors.begin(is_first_life=False)
    gc.disable()
    assert seen(Thing) == 5
    gc.collect()
    assert seen(Thing) == 0
    things += [Thing() for _ in range(3)]
    assert seen(Thing) == 3
    gc.collect(1)
    assert seen(Thing) == 3
    survivors.end()
    gc.disable()
    gc.collect()
    assert seen(Thing) == 3
    survivors.release()
    assert seen(Thing) == len(things)


@pytest.mark.usefixtures("no_collection")
def test_a_life_without_a_full_collection_leaves_frozen_objects_as_they_are() -> None:
    things = [Thing()]
    survivors = Survivors()
    survivors.begin(is_first_life=True)
    assert gc.isenabled()
    gc.disable()
    assert seen(Thing) == 0
    things.append(Thing())
    survivors.end()
    survivors.release()
    assert seen(Thing) == 1 < len(things)


@pytest.mark.usefixtures("no_collection")
def test_full_collections_come_sooner_and_are_shorter_in_a_life() -> None:
    usual = gc.get_threshold()
    survivors = Survivors()
    survivors.begin(is_first_life=False)
    assert gc.get_threshold() == (*usual[:2], 3)
    survivors.end()
    assert gc.get_threshold() == usual


@pytest.mark.usefixtures("no_collection")
def test_a_life_that_has_not_begun_ends_with_collections() -> None:
    callbacks = list(gc.callbacks)
    survivors = Survivors()
    survivors.end()
    survivors.release()
    assert gc.callbacks == callbacks
    assert gc.isenabled()


@pytest.mark.usefixtures("no_collection")
def test_a_frozen_log_is_freed_without_a_collection(tmp_path: Path) -> None:
    """Else what is kept out of collections would stay for ever."""
    before = seen(Log)
    manager = started(tmp_path, 0, 1)
    for partition in (0, 1):
        append(manager.get("t", partition))
    gc.freeze()
    for partition in (0, 1):
        manager.delete("t", partition)
    manager.chores.work(6)
    gc.unfreeze()
    assert seen(Log) == before
    manager.close()
