import json
from importlib.resources import files

import pytest

from broker_lite.handler.emulate import max_versions, min_versions, serves_old_messages
from broker_lite.handler.table import APIS, OLD_MIN_VERSIONS, offered
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


def test_p61_no_maximum_ever_shrinks_and_none_is_above_ours_in_the_last_column() -> None:
    before: dict[int, int] = {}
    for release in RELEASES:
        column = dict(max_versions(release))
        assert all(column[key] >= version for key, version in before.items())
        before = column
    for key, api in APIS.items():
        assert api.max_version == before[key]


def test_p56_an_unknown_release_is_one_clear_error() -> None:
    with pytest.raises(InvalidValue, match=r"2\.7 .* one of: 0\.9, 0\.10\.0, "):
        BROKER_SETTINGS["emulate"].parse("2.7")


@pytest.mark.parametrize("release", RELEASES)
def test_v92_f60_old_messages_were_served_until_4_0(release: str) -> None:
    assert serves_old_messages(release) is (int(release.split(".")[0]) < 4)
    assert bool(min_versions(release)) is (int(release.split(".")[0]) >= 4)


def test_p50_p56_old_messages_come_with_their_versions() -> None:
    apis = offered("3.9")
    assert [apis[key][1:3] for key in (0, 1, 8, 9)] == [(0, 11), (0, 17), (0, 9), (0, 9)]
    assert apis[2].min_version == APIS[2].min_version
    apis = offered("0.10.0")
    assert [apis[key][1:3] for key in (0, 1)] == [(0, 2), (0, 2)]


# as ApiVersions of a Kafka 4.3.1 tells them, but for keys that are not served here
OFFERED_BY_4_3 = {
    2: (1, 11),
    8: (2, 10),
    18: (0, 4),
    19: (2, 7),
    20: (1, 6),
    28: (0, 5),
    32: (1, 4),
    35: (1, 5),
    42: (0, 2),
}


def test_p56_by_default_it_is_what_4_3_offers() -> None:
    apis = offered(DEFAULT_RELEASE)
    assert {key: apis[key][1:3] for key in OFFERED_BY_4_3} == OFFERED_BY_4_3


def test_p56_a_newer_release_offers_more_and_an_older_one_less() -> None:
    newer, older = offered("4.4"), offered("3.9")
    assert [newer[key].max_version for key in (18, 28, 42)] == [5, 6, 3]
    assert [older[key][1:3] for key in (2, 19, 32)] == [(0, 9), (0, 7), (0, 4)]
    assert 69 in older
    assert 75 not in older


@pytest.mark.parametrize("release", RELEASES)
def test_p56_no_release_offers_what_there_is_no_code_for(release: str) -> None:
    for key, api in offered(release).items():
        lowest = min(APIS[key].min_version, OLD_MIN_VERSIONS.get(key, APIS[key].min_version))
        assert lowest <= api.min_version <= api.max_version <= APIS[key].max_version
