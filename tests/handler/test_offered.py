"""What a broker of each release offers.

Also tests: broker_lite.handler.table.
"""

import json
from pathlib import Path
from typing import Final

import pytest

from broker_lite.handler.offered import offered
from broker_lite.handler.table import APIS, OLD_MIN_VERSIONS
from broker_lite.settings import DEFAULT_RELEASE, RELEASES

GOLDEN: Final = Path(__file__).parents[1] / "vectors" / "api_versions.json"


def test_p50_p56_old_messages_come_with_their_versions() -> None:
    apis = offered("3.9")
    assert [apis[key][1:3] for key in (0, 1, 8, 9)] == [(0, 11), (0, 17), (0, 9), (0, 9)]
    assert apis[2].min_version == APIS[2].min_version
    apis = offered("0.10.0")
    assert [apis[key][1:3] for key in (0, 1)] == [(0, 2), (0, 2)]


def test_p49_p56_by_default_it_is_what_4_3_offers() -> None:
    """As ApiVersions of a Kafka 4.3.1 tells them, but for keys that are not served here.

    A Kafka offers client metrics only with a receiver of them, which the one of the file lacks.
    """
    told = json.loads(GOLDEN.read_text("utf-8"))["apis"] | {"71": [0, 0], "72": [0, 0]}
    apis = offered(DEFAULT_RELEASE)
    assert apis.keys() == APIS.keys()
    ours = {str(key): [api.min_version, api.max_version] for key, api in apis.items()}
    assert ours.pop("0") == [3, 13]  # P-50: Kafka tells 0, but does not serve it
    assert ours == {key: told[key] for key in ours}


def test_t69_a_version_that_is_not_stable_has_to_be_asked_for() -> None:
    assert offered(DEFAULT_RELEASE)[22].max_version == 5
    unstable = offered(DEFAULT_RELEASE, has_unstable=True)
    assert unstable[22].max_version == 6
    assert {key: api for key, api in unstable.items() if key != 22} == {
        key: api for key, api in offered(DEFAULT_RELEASE).items() if key != 22
    }
    assert offered("3.9", has_unstable=True) == offered("3.9")


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
