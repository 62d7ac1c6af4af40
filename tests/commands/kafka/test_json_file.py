"""JSON files that say which partitions."""

from pathlib import Path

import pytest

from broker_lite.commands.kafka.json_file import member, read_partitions
from broker_lite.errors import SettingsError


def read(folder: Path, text: str) -> list[object]:
    path = folder / "file.json"
    path.write_text(text)
    return [member(entry, "topic", str) for entry in read_partitions(path)]


def test_without_a_version_it_is_the_first(tmp_path: Path) -> None:
    assert read(tmp_path, '{"partitions": [{"topic": "a"}, {"topic": "b"}]}') == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "The input string is not a valid JSON: "),
        ("[]", "not an object of JSON"),
        ('{"version": 2}', "Not supported version field value 2"),
        ('{"version": 1}', "Missing partitions field"),
        ('{"partitions": [1]}', "1 is not an object"),
        ('{"partitions": [{}]}', "{}: topic is missing, or not of type str"),
        ('{"partitions": [{"topic": true}]}', "topic is missing, or not of type str"),
    ],
)
def test_what_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        read(tmp_path, text)
    assert message in str(refused.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nosuch: No such file or directory"):
        list(read_partitions(tmp_path / "nosuch"))
