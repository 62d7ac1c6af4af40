"""Script files: JSON, YAML, and what neither is."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from broker_lite.errors import SettingsError
from broker_lite.settings import Settings, with_flag
from broker_lite.testbench.scripts.files import is_record, read_script_file, with_script


def written(tmp_path: Path, text: str, name: str = "s.json") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_json_and_yaml_are_the_same(tmp_path: Path) -> None:
    found = {"seed": 1, "rules": [{"keys": ["Produce"], "hold": True}]}
    assert read_script_file(written(tmp_path, json.dumps(found))) == found
    text = "seed: 1\nrules:\n  - {keys: [Produce], hold: true}\n"
    assert read_script_file(written(tmp_path, text, "s.yaml")) == found
    assert read_script_file(str(written(tmp_path, text, "s.YML"))) == found
    assert not is_record(found)
    assert is_record({"script": found})


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        ("{", "s.json", "not JSON"),
        ("seed: 1", "s.json", "not JSON"),
        ("[]", "s.json", "a script is an object"),
        ("a: [", "s.yaml", "expected the node content"),
        ("a: 2024-01-01", "s.yaml", "date is not JSON serializable"),
        ("", "s.yaml", "a script is an object"),
        ("[" * 100_000, "s.json", "not JSON"),
    ],
)
def test_what_is_no_script(tmp_path: Path, text: str, name: str, told: str) -> None:
    path = written(tmp_path, text, name)
    with pytest.raises(SettingsError) as caught:
        read_script_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        read_script_file(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b'{"name": "\xff"}')
    with pytest.raises(SettingsError, match="it is not UTF-8 text"):
        read_script_file(tmp_path / "latin.json")


def test_yaml_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(SettingsError, match=r"pip install 'broker-lite\[yaml\]'"):
        read_script_file(written(tmp_path, "seed: 1", "s.yaml"))
    assert read_script_file(written(tmp_path, '{"seed": 1}')) == {"seed": 1}


def settings(path: Path, **given: str) -> Settings:
    made = with_flag(Settings(), "broker.lite.script", str(path), "--script")
    for name, text in given.items():
        made = with_flag(made, name.replace("_", "."), text, name)
    return made


@pytest.mark.parametrize("is_of_run", [False, True])
def test_topics_and_brokers_of_a_script(tmp_path: Path, is_of_run: bool) -> None:
    script: dict[str, Any] = {"brokers": 3, "topics": ["b:2", "c"]}
    path = written(tmp_path, json.dumps({"script": script} if is_of_run else script))
    made = with_script(settings(path, broker_lite_topics="a"))
    assert made.broker_lite_topics == "a\nb:2\nc"
    assert made.broker_lite_brokers == 3
    assert made.default_replication_factor == 3
    with pytest.raises(SettingsError, match="it needs 3 brokers"):
        with_script(settings(path, broker_lite_brokers="2"))


def test_settings_without_a_script_stay(tmp_path: Path) -> None:
    assert with_script(Settings()) == Settings()
    plain = settings(written(tmp_path, "{}"))
    assert with_script(plain) == plain
