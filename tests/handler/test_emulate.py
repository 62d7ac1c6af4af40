import pytest

from broker_lite.errors import SettingsError
from broker_lite.handler.emulate import (
    has_feature,
    max_versions,
    releases,
    serves_old_messages,
)
from broker_lite.handler.table import APIS, OLD_MIN_VERSIONS, offered
from broker_lite.settings import BROKER_SETTINGS


def test_p61_the_releases_are_those_of_the_setting() -> None:
    setting = BROKER_SETTINGS["emulate"]
    for release in ("", *releases()):
        assert setting.parse(release) == release


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


def test_p61_no_maximum_ever_shrinks_and_none_is_above_ours_in_the_last_column() -> None:
    before: dict[int, int] = {}
    for release in releases():
        column = dict(max_versions(release))
        assert all(column[key] >= version for key, version in before.items())
        before = column
    for key, api in APIS.items():
        assert api.max_version == before[key]


def test_p56_an_unknown_release_is_one_clear_error() -> None:
    with pytest.raises(SettingsError, match=r"emulate=2\.7: not one of 0\.9, 0\.10\.0, "):
        max_versions("2.7")


@pytest.mark.parametrize(
    ("release", "feature", "known"),
    [
        ("", "group.version", True),
        ("2.6", "metadata.version", False),
        ("3.0", "metadata.version", False),
        ("3.5", "metadata.version", True),
        ("3.5", "transaction.version", False),
        ("4.0", "transaction.version", True),
    ],
)
def test_p56_features_by_release(release: str, feature: str, known: bool) -> None:
    assert has_feature(release, feature) is known


@pytest.mark.parametrize("release", ["", *releases()])
def test_v92_f60_old_messages_were_served_until_4_0(release: str) -> None:
    expected = release != "" and int(release.split(".")[0]) < 4
    assert serves_old_messages(release) is expected


def test_p50_p56_old_messages_come_with_their_versions() -> None:
    apis = offered(APIS, max_versions("3.9"), OLD_MIN_VERSIONS)
    assert [apis[key][1:3] for key in (0, 1, 8, 9)] == [(0, 11), (0, 17), (0, 9), (0, 9)]
    assert apis[2].min_version == APIS[2].min_version
    apis = offered(APIS, max_versions("0.10.0"), OLD_MIN_VERSIONS)
    assert [apis[key][1:3] for key in (0, 1)] == [(0, 2), (0, 2)]
    assert 0 not in offered(APIS, max_versions("0.10.0"))
