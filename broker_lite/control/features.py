"""Features of the cluster: which levels this broker supports, which are in force, how they change.

A level is raised together with what it promises: clients change their ways when they see it.
`transaction.version` 2 makes them leave out AddPartitionsToTxn, `group.version` 1 lets them use the
new group protocol.

Rule: P-54, P-55.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from broker_lite.errors import InvalidUpdateVersion, SettingsError

FEATURES_SETTING: Final = "broker.lite.features"


class SupportedFeature(NamedTuple):
    """A range of levels, both inclusive, and the level of a new cluster; 0 is "off"."""

    min_level: int
    max_level: int
    initial_level: int


METADATA_VERSION: Final = "metadata.version"
GROUP_VERSION: Final = "group.version"
TRANSACTION_VERSION: Final = "transaction.version"

SUPPORTED_FEATURES: Final[Mapping[str, SupportedFeature]] = MappingProxyType(
    {
        GROUP_VERSION: SupportedFeature(0, 1, 1),
        "kraft.version": SupportedFeature(0, 0, 0),
        # 7 is the first of Kafka 3.3, 25 the one of Kafka 4.0: the records are written for it
        METADATA_VERSION: SupportedFeature(7, 25, 25),
        TRANSACTION_VERSION: SupportedFeature(0, 2, 2),
    }
)


_FAILED_FOR_ALL: Final = (
    "The update failed for all features since the following feature had an error: "
)


class UpgradeType(IntEnum):
    """What a change of a level is meant to be.

    Source: FeatureUpdate.UpgradeType.
    """

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """One change asked for; its upgrade type may be none of UpgradeType."""

    name: str
    level: int
    upgrade_type: int


def initial_features(given: Sequence[str] = ()) -> dict[str, int]:
    """The levels that a new cluster starts with, without those that are off.

    Raises:
        SettingsError: see given_features().
    """
    levels = {name: feature.initial_level for name, feature in SUPPORTED_FEATURES.items()}
    levels.update(given_features(given))
    return {name: level for name, level in levels.items() if level > 0}


def given_features(given: Sequence[str]) -> dict[str, int]:
    """The levels that a setting asks for.

    Args:
        given: NAME=LEVEL each, as kafka-storage takes them.

    Raises:
        SettingsError: no such feature, or not such a level.
    """
    levels = {}
    for item in given:
        name, _, level = item.partition("=")
        feature = SUPPORTED_FEATURES.get(name)
        if feature is None:
            known = ", ".join(SUPPORTED_FEATURES)
            raise SettingsError(f"{FEATURES_SETTING}: {item!r} is not NAME=LEVEL of {known}")
        if not level.isdecimal() or not feature.min_level <= int(level) <= feature.max_level:
            allowed = f"{feature.min_level} to {feature.max_level}"
            raise SettingsError(f"{FEATURES_SETTING}: {item!r}: the levels of {name} are {allowed}")
        levels[name] = int(level)
    return levels


def plan_features(
    current: Mapping[str, int], updates: Sequence[FeatureUpdate], node_id: int
) -> dict[str, int]:
    """Check changes of levels, all or none.

    Args:
        current: the levels in force.
        updates: the changes.
        node_id: of this node, for the texts.

    Returns:
        What has to be written; empty when everything stays.

    Raises:
        InvalidUpdateVersion: one of them cannot be made.

    Source: FeatureControlManager.updateFeatures.
    """
    changed = {}
    # of a feature that is named twice the last counts
    for update in {update.name: update for update in updates}.values():
        before = current.get(update.name, 0)
        reason = _reason_against(update, before, node_id)
        if reason is not None:
            reason = f"Invalid update version {update.level} for feature {update.name}. {reason}"
        elif update.name == METADATA_VERSION and update.level < before:
            reason = _against_metadata_downgrade(update, before)
        if reason is not None:
            raise InvalidUpdateVersion(f"{_FAILED_FOR_ALL}{reason}")
        if update.level != before:
            changed[update.name] = update.level
    return changed


def _reason_against(update: FeatureUpdate, before: int, node_id: int) -> str | None:
    """Source: FeatureControlManager.updateFeature, QuorumFeatures.reasonNotLocallySupported."""
    if update.upgrade_type not in UpgradeType.__members__.values():
        return "The controller does not support the given upgrade type."
    if update.level < 0:
        return "A feature version cannot be less than 0."
    feature = SUPPORTED_FEATURES.get(update.name)
    if feature is None:
        if update.level == 0:
            return f"Feature {update.name} not found."
        return f"Local controller {node_id} does not support this feature."
    if not feature.min_level <= update.level <= feature.max_level:
        allowed = f"{feature.min_level}-{feature.max_level}"
        return f"Local controller {node_id} only supports versions {allowed}"
    is_upgrade = update.upgrade_type == UpgradeType.UPGRADE
    if update.level < before and is_upgrade:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to "
            "either safe or unsafe downgrade."
        )
    if update.level > before and not is_upgrade:
        return "Can't downgrade to a newer version."
    return None


def _against_metadata_downgrade(update: FeatureUpdate, before: int) -> str:
    """What is in the metadata log is written for the level of its start.

    Source: FeatureControlManager.updateMetadataVersion.
    """
    if update.upgrade_type == UpgradeType.UNSAFE_DOWNGRADE:
        reason = "Unsafe metadata downgrade is not supported in this version."
    else:
        reason = (
            "Refusing to perform the requested downgrade because it might delete metadata "
            "information."
        )
    return f"Unsupported metadata.version downgrade from {before} to {update.level}. {reason}"
