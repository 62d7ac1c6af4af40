"""Reading scopes and plans; what resets do is in test_groups.py."""

from pathlib import Path

import pytest

from broker_lite.commands.groups.reset import parse_topic, read_plan
from broker_lite.errors import SettingsError


def test_topics() -> None:
    assert parse_topic("t") == ("t", None)
    assert parse_topic("t:0,2") == ("t", [0, 2])


@pytest.mark.parametrize("text", ["t:", ":1", "t:x", "t:0,", "t:-1", "t:9999999999"])
def test_no_topics(text: str) -> None:
    with pytest.raises(SettingsError, match="Invalid"):
        parse_topic(text)


def test_plans(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    path.write_text('t,0,1\n\n"a,b",1,2\n')
    assert read_plan(path, "g") == {"g": {("t", 0): 1, ("a,b", 1): 2}}
    path.write_text("g,t,0,1\nh,t,1,2\n")
    assert read_plan(path, None) == {"g": {("t", 0): 1}, "h": {("t", 1): 2}}


@pytest.mark.parametrize("text", ["t;0", "t,x,1", "t,0,1,2,3", "t,0,1\nt,0"])
def test_no_plans(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.csv"
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"plan.csv, line \d: not \[group,\]topic,partition"):
        read_plan(path, "g")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file or directory"):
        read_plan(tmp_path / "plan.csv", "g")


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    path.write_bytes(b"\xff\xfe,0,1\n")
    with pytest.raises(SettingsError, match="can't decode"):
        read_plan(path, "g")
