"""What is told of damage, and by whom."""

import pickle

import pytest

from broker_lite.pipeline.read.corruption import ON_CORRUPTION, Corruption, CorruptLog

FOUND = Corruption("dir/00.log", 77, "R-06", "wrong checksum")


def test_fail_raises_file_position_and_rule() -> None:
    with pytest.raises(CorruptLog) as caught:
        ON_CORRUPTION["fail"](FOUND)
    assert str(caught.value) == "corrupt log: dir/00.log at 77: R-06: wrong checksum"
    assert caught.value.corruption == FOUND


def test_the_error_comes_whole_out_of_another_process() -> None:
    again = pickle.loads(pickle.dumps(CorruptLog(FOUND)))
    assert (str(again), again.corruption) == (str(CorruptLog(FOUND)), FOUND)


@pytest.mark.parametrize("name", ["skip", "report"])
def test_what_is_left_out_is_logged(name: str, caplog: pytest.LogCaptureFixture) -> None:
    ON_CORRUPTION[name](FOUND)
    assert caplog.messages == [
        "corrupt bytes left out file=dir/00.log position=77 rule=R-06 text=wrong checksum"
    ]
