"""Which tests a worker runs together."""

import pytest

from tests.support.rooms import begins_first, room_of


@pytest.mark.parametrize(
    ("file", "room"),
    [
        ("tests/log/test_roll.py", "tests/log/test_roll.py"),
        ("tests/pipeline/test_serving.py", "tests/pipeline/test_serving.py"),
        ("tests/pipeline/spark/jobs/test_export.py", "tests/pipeline/spark/"),
        ("tests/differential/test_sasl.py", "tests/differential/"),
        ("tests/conformance/test_groups.py", "tests/conformance"),
        ("tests/conformance/cluster/test_consumers.py", "tests/conformance/cluster"),
    ],
)
def test_rooms(file: str, room: str) -> None:
    assert room_of(file) == room


def test_the_longest_rooms_begin_first() -> None:
    files = ["tests/log/test_roll.py", "tests/pipeline/spark/test_source.py"]
    assert [begins_first(file) for file in files] == [False, True]
