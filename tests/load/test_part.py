"""How a load is divided among processes."""

import pytest

from broker_lite.load.part import WHOLE, Part


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("whole", [0, 1, 5, 12, 100])
def test_each_thing_is_in_one_part(count: int, whole: int) -> None:
    parts = [Part(index, count) for index in range(count)]
    assert sorted(each for part in parts for each in part.of(range(whole))) == list(range(whole))
    assert [part.size_of(whole) for part in parts] == [len(part.of(range(whole))) for part in parts]


def test_one_process_has_all() -> None:
    assert WHOLE.of(range(5)) == range(5)
