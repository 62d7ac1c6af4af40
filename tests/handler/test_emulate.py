import json
from importlib.resources import files

import pytest

from broker_lite.handler.emulate import max_versions, min_versions, serves_old_messages
from broker_lite.handler.table import APIS
from broker_lite.settings import BROKER_SETTINGS, DEFAULT_RELEASE, RELEASES, InvalidValue


def test_p61_the_releases_are_those_of_the_table() -> None:
    text = files("broker_lite.handler").joinpath("data/releases.json").read_text("utf-8")
    assert tuple(json.loads(text)["releases"]) == RELEASES
    assert DEFAULT_RELEASE in RELEASES


@pytest.mark.parametrize(
    ("release", "key", "version"),
    [
        ("0.9", 1, 1),
        ("0.9", 18, None),
        ("0.10.0", 3, 1),
        ("0.10.2", 9, 2),
        ("0.10.0", 19, None),
        ("0.11", 0, 3),
        ("2.0", 18, 2),
        ("2.8", 44, 1),
        ("3.9", 75, None),
        ("4.0", 75, 0),
        ("4.4", 18, 5),
    ],
)
def test_p61_cells_of_the_table(release: str, key: int, version: int | None) -> None:
    assert max_versions(release).get(key) == version


def test_p61_no_maximum_ever_shrinks_and_ours_are_those_of_the_last_column() -> None:
    before: dict[int, int] = {}
    for release in RELEASES:
        column = dict(max_versions(release))
        assert all(column[key] >= version for key, version in before.items())
        before = column
    for key, api in APIS.items():
        is_unstable = key == 22  # T-69: no release offers version 6
        assert api.max_version == before[key] + is_unstable


def test_p56_an_unknown_release_is_one_clear_error() -> None:
    with pytest.raises(InvalidValue, match=r"2\.7 .* one of: 0\.9, 0\.10\.0, "):
        BROKER_SETTINGS["emulate"].parse("2.7")


@pytest.mark.parametrize("release", RELEASES)
def test_v92_f60_old_messages_were_served_until_4_0(release: str) -> None:
    assert serves_old_messages(release) is (int(release.split(".")[0]) < 4)
    assert bool(min_versions(release)) is (int(release.split(".")[0]) >= 4)
