from broker_lite.control.features import SUPPORTED_FEATURES, initial_features


def test_p54_p55_no_feature_is_in_force_that_is_not_served() -> None:
    assert initial_features() == {"metadata.version": 25}
    assert SUPPORTED_FEATURES["transaction.version"].max_level == 0
    assert SUPPORTED_FEATURES["group.version"].max_level == 0
    for feature in SUPPORTED_FEATURES.values():
        assert feature.min_level <= feature.max_level
        assert feature.initial_level <= feature.max_level
