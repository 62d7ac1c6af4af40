import pytest

from broker_lite.control.features import (
    SUPPORTED_FEATURES,
    FeatureUpdate,
    given_features,
    initial_features,
    plan_features,
)
from broker_lite.errors import InvalidUpdateVersion, SettingsError

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


def test_p54_p55_the_features_of_a_new_cluster() -> None:
    stock = {"group.version": 1, "metadata.version": 25, "transaction.version": 2}
    assert initial_features() == stock
    for feature in SUPPORTED_FEATURES.values():
        assert feature.min_level <= feature.initial_level <= feature.max_level


def test_p54_a_setting_switches_features_back() -> None:
    given = ("transaction.version=1", "group.version=0")
    assert given_features(given) == {"transaction.version": 1, "group.version": 0}
    assert initial_features(given) == {"metadata.version": 25, "transaction.version": 1}


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("nonsense=1", "'nonsense=1' is not NAME=LEVEL of group.version"),
        ("group.version", "the levels of group.version are 0 to 1"),
        ("group.version=2", "the levels of group.version are 0 to 1"),
        ("metadata.version=6", "the levels of metadata.version are 7 to 25"),
    ],
)
def test_a_setting_that_cannot_be_had(item: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        given_features((item,))


CURRENT = {"group.version": 1, "metadata.version": 25, "transaction.version": 2}


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
    assert plan_features(CURRENT, [FeatureUpdate(*each) for each in updates], 1) == changed


def test_a_feature_that_is_off_is_raised() -> None:
    assert plan_features({}, [FeatureUpdate("group.version", 1, UPGRADE)], 1) == {
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
            ("metadata.version", 24, SAFE_DOWNGRADE),
            "Unsupported metadata.version downgrade from 25 to 24. Refusing to perform the "
            "requested downgrade because it might delete metadata information.",
        ),
        (
            ("metadata.version", 24, UNSAFE_DOWNGRADE),
            "Unsupported metadata.version downgrade from 25 to 24. "
            "Unsafe metadata downgrade is not supported in this version.",
        ),
    ],
)
def test_p60_57_levels_that_may_not_change_with_kafkas_texts(
    update: tuple[str, int, int], reason: str
) -> None:
    with pytest.raises(InvalidUpdateVersion) as caught:
        plan_features(CURRENT, [FeatureUpdate(*update)], 1)
    assert caught.value.message == (
        f"The update failed for all features since the following feature had an error: {reason}"
    )


def test_a_lower_level_is_not_raised_by_a_downgrade() -> None:
    with pytest.raises(InvalidUpdateVersion, match="Can't downgrade to a newer version"):
        plan_features({}, [FeatureUpdate("group.version", 1, SAFE_DOWNGRADE)], 1)
