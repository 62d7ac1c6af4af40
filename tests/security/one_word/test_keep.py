import json
import os
import time
from pathlib import Path

import pytest

from broker_lite.errors import SettingsError
from broker_lite.security.one_word.keep import KEPT_FILE, Kept, prepare, read_kept
from broker_lite.settings import load_settings

FILES = (
    *("broker-lite-ca.pem", "broker-lite-client.pem", "broker-lite-security.json"),
    "broker-lite-server.pem",
)
YEAR_S = 365 * 24 * 3600


def prepared(folder: Path, *, now_s: float | None = None, **texts: str) -> Kept:
    named = {f"broker.lite.security.{name}": text for name, text in texts.items()}
    settings = load_settings(None, {}, {"broker.lite.security": "ssl", **named})
    prepare(settings, folder, time.time() if now_s is None else now_s)
    kept = read_kept(folder)
    assert kept is not None
    return kept


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    prepared(folder)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).write_bytes((made / name).read_bytes())
    return tmp_path


def test_files_are_for_their_owner_only(made: Path) -> None:
    assert sorted(path.name for path in made.iterdir()) == sorted(FILES)
    assert {path.stat().st_mode & 0o777 for path in made.iterdir()} == {0o600}


def test_a_umask_does_not_open_them(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        prepared(tmp_path)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_what_is_current_stays(folder: Path) -> None:
    before = read_kept(folder)
    times = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert prepared(folder) == before
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == times


@pytest.mark.parametrize(
    ("now_s", "texts"),
    [
        (time.time() + 3 * YEAR_S, {}),
        (None, {"san": "another.example.org"}),
        (None, {"users": "bob:x"}),
    ],
    ids=["expired", "a name is missing", "a user is missing"],
)
def test_what_is_not_current_is_made_by_the_same_ca(
    folder: Path, now_s: float | None, texts: dict[str, str]
) -> None:
    before = read_kept(folder)
    after = prepared(folder, now_s=now_s, **texts)
    assert before is not None
    assert (after.ca, after.token_key) == (before.ca, before.token_key)
    assert after.server != before.server
    assert set(texts.get("san", "").split()) <= set(after.names)
    assert "users" not in texts or "bob" in after.clients


@pytest.mark.parametrize("name", FILES[:2] + FILES[3:])
def test_a_file_that_is_lost_or_changed_is_written_anew(folder: Path, name: str) -> None:
    ca = (folder / FILES[0]).read_text()
    (folder / name).unlink()
    prepared(folder)
    assert (folder / name).exists()
    (folder / name).write_bytes(b"\xff")
    prepared(folder)
    assert (folder / name).read_text().startswith("-----BEGIN")
    assert (folder / FILES[0]).read_text() == ca


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"names": 1}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_file_counts_as_none(folder: Path, data: bytes) -> None:
    (folder / KEPT_FILE).write_bytes(data)
    assert read_kept(folder) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("expires_s", "x"),
        ("names", [1]),
        ("ca", None),
        ("clients", []),
        ("clients", {"user": 1}),
        ("clients", {"user": {"pem": 1}}),
        ("token_key", {"n": 1}),
        ("another", 1),
    ],
)
def test_a_damaged_part_counts_as_none(folder: Path, name: str, value: object) -> None:
    kept = json.loads((folder / KEPT_FILE).read_bytes())
    (folder / KEPT_FILE).write_text(json.dumps({**kept, name: value}))
    assert read_kept(folder) is None


def test_several_brokers_share_what_one_has_made(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("shared", "a", "b", "c")]
    for each in folders:
        each.mkdir()
    shared, *others = folders
    settings = load_settings(None, {}, {"broker.lite.security": "ssl"})
    for each in others[:2]:
        prepare(settings, each, time.time(), shared=shared)
    assert read_kept(others[0]) == read_kept(others[1]) == read_kept(shared)
    named = {"broker.lite.security": "ssl", "broker.lite.security.san": "x"}
    prepare(load_settings(None, {}, named), others[2], time.time(), shared=shared)
    assert read_kept(others[2]) == read_kept(shared) != read_kept(others[0])
    before = read_kept(others[0])
    prepare(settings, others[0], time.time(), shared=shared)
    assert read_kept(others[0]) == before


def test_a_damaged_ca_is_one_line(folder: Path) -> None:
    kept = json.loads((folder / KEPT_FILE).read_bytes())
    (folder / KEPT_FILE).write_text(json.dumps({**kept, "ca_key": "x", "names": []}))
    with pytest.raises(SettingsError, match=f"{KEPT_FILE}: what was kept of its CA is damaged"):
        prepared(folder)


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"data directory .*: No such file"):
        prepared(tmp_path / "none")


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("before")
    (folder / FILES[3]).unlink()
    (folder / f"{FILES[3]}.new").symlink_to(target)
    prepared(folder)
    assert target.read_text() == "before"


def test_it_shows_no_secret(made: Path) -> None:
    assert repr(read_kept(made)) == "Kept()"
