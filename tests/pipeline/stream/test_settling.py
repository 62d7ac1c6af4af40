from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker_lite.pipeline.stream import settling
from broker_lite.pipeline.stream.settling import UnsettledLog, is_swapping, settled
from tests.pipeline.stream_support import IO

pytestmark = pytest.mark.usefixtures("impatient")


def answers(*given: str | FileNotFoundError | None) -> Callable[[], str | None]:
    left: Iterator[str | FileNotFoundError | None] = iter(given)

    def look() -> str | None:
        answer = next(left)
        if isinstance(answer, FileNotFoundError):
            raise answer
        return answer

    return look


def missing(name: str) -> FileNotFoundError:
    return FileNotFoundError(2, "No such file", name)


def test_it_is_looked_until_there_is_a_result() -> None:
    assert settled(answers("found"), "log") == "found"
    assert settled(answers(None, missing("a"), None, missing("a"), missing("b"), "found"), "") == (
        "found"
    )


def test_a_file_that_is_missing_twice_did_not_vanish() -> None:
    with pytest.raises(FileNotFoundError, match="b"):
        settled(answers(missing("a"), missing("b"), missing("b"), "found"), "log")


def test_what_does_not_come_to_an_end_is_an_error() -> None:
    with pytest.raises(UnsettledLog, match=r"^/logs/t-0: segments are being swapped"):
        settled(answers(*[None] * settling.ATTEMPTS, "too late"), "/logs/t-0")


def test_a_swap_is_told_by_its_log(tmp_path: Path) -> None:
    assert not is_swapping(IO, str(tmp_path / "gone"))
    (tmp_path / "00000000000000000000.log.cleaned").touch()
    assert not is_swapping(IO, str(tmp_path))
    (tmp_path / "00000000000000000000.log.swap").touch()
    assert is_swapping(IO, str(tmp_path))
