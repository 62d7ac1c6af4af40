"""The words for how a process has ended."""

import pytest

from broker_lite.server.processes.spawning import CLEAN_END, describe_end


@pytest.mark.parametrize(
    ("code", "words"), [(0, CLEAN_END), (2, "exit code 2"), (-9, "SIGKILL"), (-250, "signal 250")]
)
def test_an_exit_code_in_words(code: int, words: str) -> None:
    assert describe_end(code) == words
