import pytest

from broker_lite.control.cluster.features import (
    FeatureUpdate,
    given_features,
    initial_features,
    plan_features,
    supported_features,
    tells_features,
)
from broker_lite.errors import InvalidUpdateVersion, SettingsError
from broker_lite.settings import RELEASES

SUPPORTED = supported_features()
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


def test_p54_p55_the_features_of_a_new_cluster() -> None:
    assert initial_features() == {
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "metadata.version": 30,
        "share.version": 1,
        "streams.version": 1,
        "transaction.version": 2,
    }
    for release in RELEASES:
        for feature in supported_features(release).values():
            assert feature.min_level <= feature.initial_level <= feature.max_level


OLD = {"metadata.version": 7}
KAFKA_4_0 = {"metadata.version": 25, "group.version": 1, "transaction.version": 2}
KAFKA_4_2 = KAFKA_4_0 | {
    "eligible.leader.replicas.version": 1,
    "share.version": 1,
    "streams.version": 1,
}


@pytest.mark.parametrize(
    ("release", "levels"),
    [
        ("0.9", OLD),
        ("3.0", OLD),
        ("3.5", {"metadata.version": 11}),
        ("3.7", {"metadata.version": 19}),
        ("3.9", {"metadata.version": 21}),
        ("4.0", KAFKA_4_0),
        ("4.1", KAFKA_4_0 | {"metadata.version": 27, "eligible.leader.replicas.version": 1}),
        ("4.2", KAFKA_4_2 | {"metadata.version": 29}),
        ("4.4", KAFKA_4_2 | {"metadata.version": 33}),
    ],
)
def test_p56_a_new_cluster_is_that_of_its_release(release: str, levels: dict[str, int]) -> None:
    assert initial_features((), supported_features(release)) == levels
    assert tells_features(release) is (release in RELEASES[RELEASES.index("3.5") :])


def test_p54_a_setting_switches_features_back() -> None:
    given = ("transaction.version=1", "group.version=0")
    supported = supported_features("4.0")
    assert given_features(given, supported) == {"transaction.version": 1, "group.version": 0}
    expected = {"metadata.version": 25, "transaction.version": 1}
    assert initial_features(given, supported) == expected


def test_a_feature_that_a_release_does_not_have_may_be_off() -> None:
    old = supported_features("2.8")
    assert initial_features(("group.version=0",), old) == OLD
    with pytest.raises(SettingsError, match=r"the levels of group\.version are 0 to 0"):
        given_features(("group.version=1",), old)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("nonsense=1", "'nonsense=1' is not NAME=LEVEL; names: eligible.leader"),
        ("group.version", "the levels of group.version are 0 to 1"),
        ("group.version=2", "the levels of group.version are 0 to 1"),
        ("metadata.version=6", "the levels of metadata.version are 7 to 30"),
    ],
)
def test_a_setting_that_cannot_be_had(item: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        given_features((item,), SUPPORTED)


CURRENT = {"group.version": 1, "metadata.version": 30, "transaction.version": 2}


@pytest.mark.parametrize(
    ("updates", "changed"),
    [
        ([], {}),
        ([("group.version", 1, UPGRADE)], {}),
        ([("group.version", 1, SAFE_DOWNGRADE)], {}),
        ([("group.version", 0, SAFE_DOWNGRADE)], {"group.version": 0}),
        ([("group.version", 0, UNSAFE_DOWNGRADE)], {"group.version": 0}),
        (
            [("transaction.version", 1, SAFE_DOWNGRADE), ("group.version", 0, SAFE_DOWNGRADE)],
            {"transaction.version": 1, "group.version": 0},
        ),
        ([("transaction.version", 0, SAFE_DOWNGRADE), ("transaction.version", 2, UPGRADE)], {}),
    ],
)
def test_levels_that_may_change(
    updates: list[tuple[str, int, int]], changed: dict[str, int]
) -> None:
    assert (
        plan_features(CURRENT, [FeatureUpdate(*each) for each in updates], 1, SUPPORTED) == changed
    )


def test_a_feature_that_is_off_is_raised() -> None:
    assert plan_features({}, [FeatureUpdate("group.version", 1, UPGRADE)], 1, SUPPORTED) == {
        "group.version": 1
    }


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        (
            ("nonsense", 1, UPGRADE),
            "Invalid update version 1 for feature nonsense. "
            "Local controller 1 does not support this feature.",
        ),
        (
            ("nonsense", 0, SAFE_DOWNGRADE),
            "Invalid update version 0 for feature nonsense. Feature nonsense not found.",
        ),
        (
            ("group.version", 2, UPGRADE),
            "Invalid update version 2 for feature group.version. "
            "Local controller 1 only supports versions 0-1",
        ),
        (
            ("group.version", -1, UPGRADE),
            "Invalid update version -1 for feature group.version. "
            "A feature version cannot be less than 0.",
        ),
        (
            ("group.version", 0, UPGRADE),
            "Invalid update version 0 for feature group.version. Can't downgrade the version of "
            "this feature without setting the upgrade type to either safe or unsafe downgrade.",
        ),
        (
            ("group.version", 1, 9),
            "Invalid update version 1 for feature group.version. "
            "The controller does not support the given upgrade type.",
        ),
        (
            ("metadata.version", 29, SAFE_DOWNGRADE),
            "Unsupported metadata.version downgrade from 30 to 29. Refusing to perform the "
            "requested downgrade because it might delete metadata information.",
        ),
        (
            ("metadata.version", 29, UNSAFE_DOWNGRADE),
            "Unsupported metadata.version downgrade from 30 to 29. "
            "Unsafe metadata downgrade is not supported in this version.",
        ),
    ],
)
def test_p150_levels_that_may_not_change_with_kafkas_texts(
    update: tuple[str, int, int], reason: str
) -> None:
    with pytest.raises(InvalidUpdateVersion) as caught:
        plan_features(CURRENT, [FeatureUpdate(*update)], 1, SUPPORTED)
    assert caught.value.message == (
        f"The update failed for all features since the following feature had an error: {reason}"
    )


def test_a_lower_level_is_not_raised_by_a_downgrade() -> None:
    with pytest.raises(InvalidUpdateVersion, match="Can't downgrade to a newer version"):
        plan_features({}, [FeatureUpdate("group.version", 1, SAFE_DOWNGRADE)], 1, SUPPORTED)
