"""Names of levels; test_command_line compares them with Kafka's own tool."""

import pytest

from broker_lite.commands.kafka.feature_levels import (
    dependency_lines,
    level_text,
    metadata_level,
    release_levels,
    release_lines,
)
from broker_lite.errors import SettingsError


@pytest.mark.parametrize(("name", "level"), [("3.3", 7), ("3.9-IV0", 21), ("4.0", 25), ("4.3", 30)])
def test_a_level_has_a_name(name: str, level: int) -> None:
    assert metadata_level(name) == level
    assert level_text("metadata.version", level).startswith(name)


def test_other_levels_are_numbers() -> None:
    assert level_text("group.version", 1) == "1"
    assert level_text("metadata.version", 6) == "UNKNOWN [6]"
    assert level_text("metadata.version", 99) == "UNKNOWN [99]"


def test_the_levels_of_a_release() -> None:
    assert release_levels("3.9") == {
        "metadata.version": 21,
        "kraft.version": 1,
        "transaction.version": 0,
        "group.version": 0,
        "eligible.leader.replicas.version": 0,
        "share.version": 0,
        "streams.version": 0,
    }
    assert release_lines()[:2] == ["metadata.version=30 (4.3-IV0)", "kraft.version=1"]


def test_what_levels_need() -> None:
    assert dependency_lines("metadata.version", 7) == [
        "metadata.version=7 (3.3-IV3) has no dependencies."
    ]
    assert dependency_lines("group.version", 0) == ["group.version=0 has no dependencies."]
    assert dependency_lines("eligible.leader.replicas.version", 1) == [
        "eligible.leader.replicas.version=1 requires:",
        "    metadata.version=23 (4.0-IV1)",
    ]


def test_what_nobody_knows() -> None:
    with pytest.raises(SettingsError, match=r"Unknown metadata\.version '9'\. .* 3\.3-IV3,"):
        metadata_level("9")
    with pytest.raises(SettingsError, match="Unknown feature: fly"):
        dependency_lines("fly", 1)
    with pytest.raises(SettingsError, match=r"No feature:group\.version with feature level 2"):
        dependency_lines("group.version", 2)
