from pathlib import Path

import pytest

from broker_lite.client.client_properties import read_properties, timeout_s
from broker_lite.errors import SettingsError


def test_a_file_of_properties(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("# mine\nsecurity.protocol = plaintext\nclient.id=me\n")
    assert read_properties(path)["client.id"] == "me"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="none: No such file or directory"):
        read_properties(tmp_path / "none")


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="data: is not text"):
        read_properties(tmp_path / "data")


@pytest.mark.parametrize(
    ("properties", "seconds"),
    [
        ({}, 30),
        ({"request.timeout.ms": "1500"}, 1.5),
        ({"default.api.timeout.ms": "2000", "request.timeout.ms": "1500"}, 2),
    ],
)
def test_how_long_an_answer_may_take(properties: dict[str, str], seconds: float) -> None:
    assert timeout_s(properties) == seconds


@pytest.mark.parametrize("text", ["x", "0", "-1", "1.5", "99999999999"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(SettingsError, match=r"request.timeout.ms=.*: not a number of milliseconds"):
        timeout_s({"request.timeout.ms": text})
