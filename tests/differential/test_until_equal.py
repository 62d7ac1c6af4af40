"""Seeds that differ are compared again."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.differential.until_equal import until_equal


def test_only_what_differs_each_time_is_told(tmp_path: Path) -> None:
    asked: list[list[int]] = []

    def run(seeds: Sequence[int], folder: Path) -> Mapping[int, list[str]]:
        asked.append(list(seeds))
        late = [2] if len(asked) == 1 else []
        return {seed: [f"{seed} differs"] for seed in seeds if seed in (*late, 3)}

    assert until_equal(run, range(5), tmp_path) == ["3 differs"]
    assert asked == [[0, 1, 2, 3, 4], [2, 3], [3]]


def test_what_is_equal_is_compared_once(tmp_path: Path) -> None:
    folders: list[Path] = []

    def run(seeds: Sequence[int], folder: Path) -> Mapping[int, list[str]]:
        folders.append(folder)
        return {}

    assert until_equal(run, [1, 2], tmp_path) == []
    assert folders == [tmp_path / "0"]
