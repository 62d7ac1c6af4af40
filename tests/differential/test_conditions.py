"""The conditions of listed differences hold for what they name, and for nothing else."""

from dataclasses import replace

import pytest

from tests.differential.batches import GZIP, LZ4, NONE, BatchSpec, RecordSpec
from tests.differential.case import Case
from tests.differential.compare_produce import Listed, is_listed, listed_differences
from tests.differential.conditions import CONDITIONS, declares_a_huge_record, has_null_records
from tests.differential.outcomes import PartitionOutcome

SOUND = BatchSpec(records=(RecordSpec(), RecordSpec(offset_delta=1)), codec=GZIP)
HUGE = BatchSpec(records=(RecordSpec(), RecordSpec(length_error=64 * 1024 * 1024)), codec=LZ4)


def case(data: bytes | None) -> Case:
    return Case(kind="a-kind", partitions=(("t", 0, data),))


def answer(code: int) -> PartitionOutcome:
    return PartitionOutcome(code, -1, -1, 0, (), None)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(HUGE.encode(), True, id="V-45"),
        pytest.param(replace(HUGE, codec=NONE).encode(), False, id="V-45-not-compressed"),
        pytest.param(replace(HUGE, attributes=7).encode(), False, id="V-45-no-codec"),
        pytest.param(SOUND.encode(), False, id="V-45-sound"),
        pytest.param(SOUND.encode()[:61], False, id="V-45-header-only"),
        pytest.param(None, False, id="V-45-null"),
    ],
)
def test_huge_records(data: bytes | None, expected: bool) -> None:
    assert declares_a_huge_record(case(data)) is expected


def test_null_records() -> None:
    """V-02."""
    assert has_null_records(case(None))
    assert not has_null_records(case(b""))


def test_every_row_names_a_condition() -> None:
    assert {row.when for row in listed_differences()} <= CONDITIONS.keys()


def test_only_the_answers_that_differ_are_looked_at() -> None:
    row = Listed(kind="a-", kafka="-1", ours="87", reason="", when="records are null")
    theirs = {("t", 0): answer(-1), ("u", 0): answer(3)}
    mine = {("t", 0): answer(87), ("u", 0): answer(3)}
    assert is_listed(row, case(None), theirs, mine)
    assert not is_listed(row, case(b""), theirs, mine)
    assert not is_listed(row, replace(case(None), kind="b"), theirs, mine)
    assert not is_listed(row, case(None), theirs, {**mine, ("u", 0): answer(2)})
    assert not is_listed(row, case(None), "silent", mine)
