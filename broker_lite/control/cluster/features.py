"""Features of the cluster: the levels that this broker supports, and how levels change.

The broker offers a level only if it does what the level promises, because clients rely on it: with
`transaction.version` 2 they do not send AddPartitionsToTxn, with `group.version` 1 they may use the
new group protocol. A new data directory starts with the levels of the emulated release. An existing
one keeps its levels until UpdateFeatures changes them.

A difference to Kafka: `kraft.version` has level 0 only, because changes of the quorum are not
supported. Kafka 4.3 supports levels 0 to 1.

Rule: P-54, P-55.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from broker_lite.errors import InvalidUpdateVersion, SettingsError
from broker_lite.settings import DEFAULT_RELEASE

FEATURES_SETTING: Final = "broker.lite.features"


class SupportedFeature(NamedTuple):
    """A range of levels, both inclusive, and the level of a new cluster; 0 is "off"."""

    min_level: int
    max_level: int
    initial_level: int


Supported: TypeAlias = Mapping[str, SupportedFeature]

METADATA_VERSION: Final = "metadata.version"
GROUP_VERSION: Final = "group.version"
TRANSACTION_VERSION: Final = "transaction.version"
ELIGIBLE_LEADER_REPLICAS_VERSION: Final = "eligible.leader.replicas.version"

METADATA_VERSION_MIN: Final = 7
"""The level of Kafka 3.3, the lowest one with which Kafka 4 starts."""

_METADATA_VERSIONS: Final[Mapping[tuple[int, int], int]] = MappingProxyType(
    {(3, 5): 11, (3, 7): 19, (3, 9): 21, (4, 0): 25, (4, 1): 27, (4, 2): 29, (4, 3): 30, (4, 4): 33}
)
"""The last level of each release: measured with 4.3.1 and 4.4.0, others as in MetadataVersion."""

_SINCE: Final[Sequence[tuple[str, tuple[int, int], SupportedFeature]]] = (
    ("kraft.version", (3, 3), SupportedFeature(0, 0, 0)),
    (GROUP_VERSION, (4, 0), SupportedFeature(0, 1, 1)),
    (TRANSACTION_VERSION, (4, 0), SupportedFeature(0, 2, 2)),
    (ELIGIBLE_LEADER_REPLICAS_VERSION, (4, 1), SupportedFeature(0, 1, 1)),
    ("share.version", (4, 2), SupportedFeature(0, 1, 1)),
    ("streams.version", (4, 2), SupportedFeature(0, 1, 1)),
)
"""Features, the first release that has each, and its levels (Source: Feature.defaultLevel)."""
_NAMES: Final = frozenset(name for name, _, _ in _SINCE)
_FIRST_TOLD: Final = (3, 3)

_FAILED_FOR_ALL: Final = (
    "The update failed for all features since the following feature had an error: "
)


class UpgradeType(IntEnum):
    """The kind of a change of a level.

    Source: FeatureUpdate.UpgradeType.
    """

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """One requested change; its upgrade type need not be one of UpgradeType."""

    name: str
    level: int
    upgrade_type: int


def tells_features(release: str) -> bool:
    """Return whether brokers of a release tell their features to clients.

    See: P-56.
    """
    return _major_minor(release) >= _FIRST_TOLD


@cache
def supported_features(release: str = DEFAULT_RELEASE) -> Mapping[str, SupportedFeature]:
    """Return the features that brokers of a release support by name, in alphabetical order.

    Rule: P-55.
    See: P-56.
    """
    at = _major_minor(release)
    levels = [level for since, level in _METADATA_VERSIONS.items() if since <= at]
    level = max(levels, default=METADATA_VERSION_MIN)
    supported = {METADATA_VERSION: SupportedFeature(METADATA_VERSION_MIN, level, level)}
    supported.update((name, feature) for name, since, feature in _SINCE if since <= at)
    return MappingProxyType(dict(sorted(supported.items())))


def _major_minor(release: str) -> tuple[int, int]:
    major, minor = release.split(".")[:2]
    return int(major), int(minor)


def initial_features(
    given: Sequence[str] = (), supported: Supported = MappingProxyType({})
) -> dict[str, int]:
    """Return the levels that a new cluster starts with, without features that are off.

    Args:
        given: see given_features().
        supported: of the emulated release; empty for those of the default release.

    Raises:
        SettingsError: see given_features().
    """
    supported = supported or supported_features()
    levels = {name: feature.initial_level for name, feature in supported.items()}
    levels.update(given_features(given, supported))
    return {name: level for name, level in levels.items() if level > 0}


def given_features(given: Sequence[str], supported: Supported) -> dict[str, int]:
    """Return the levels that the setting `broker.lite.features` asks for.

    Args:
        given: items of the form NAME=LEVEL, as kafka-storage takes them.
        supported: the supported features.

    Raises:
        SettingsError: a feature or a level is not supported.
    """
    levels = {}
    for item in given:
        name, _, level = item.partition("=")
        feature = supported.get(name)
        if feature is None and name in _NAMES:
            feature = SupportedFeature(0, 0, 0)  # of a newer release: it can only be off
        if feature is None:
            known = ", ".join(supported)
            raise SettingsError(f"{FEATURES_SETTING}: {item!r} is not NAME=LEVEL; names: {known}")
        if not level.isdecimal() or not feature.min_level <= int(level) <= feature.max_level:
            allowed = f"{feature.min_level} to {feature.max_level}"
            raise SettingsError(f"{FEATURES_SETTING}: {item!r}: the levels of {name} are {allowed}")
        levels[name] = int(level)
    return levels


def plan_features(
    current: Mapping[str, int],
    updates: Sequence[FeatureUpdate],
    node_id: int,
    supported: Supported,
    brokers: Mapping[int, Supported] = MappingProxyType({}),
) -> dict[str, int]:
    """Check changes of levels, all or none.

    Args:
        current: the levels in force.
        updates: the changes.
        node_id: of the controller, for error texts.
        supported: the features that the controller supports.
        brokers: the features that each broker supports, by its id.

    Returns:
        The levels to write; empty if nothing changes.

    Raises:
        InvalidUpdateVersion: one of the changes is not possible.

    Source: FeatureControlManager.updateFeatures.
    """
    changed = {}
    # if a feature is named twice, the last update counts
    for update in {update.name: update for update in updates}.values():
        before = current.get(update.name, 0)
        reason = _reason_against(update, before, node_id, supported)
        if reason is None:
            reason = _reason_of_a_broker(update, brokers)
        if reason is not None:
            reason = f"Invalid update version {update.level} for feature {update.name}. {reason}"
        elif update.name == METADATA_VERSION and update.level < before:
            reason = _against_metadata_downgrade(update, before)
        if reason is not None:
            raise InvalidUpdateVersion(f"{_FAILED_FOR_ALL}{reason}")
        if update.level != before:
            changed[update.name] = update.level
    return changed


def _reason_against(
    update: FeatureUpdate, before: int, node_id: int, supported: Supported
) -> str | None:
    """Source: FeatureControlManager.updateFeature."""
    if update.upgrade_type not in UpgradeType.__members__.values():
        return "The controller does not support the given upgrade type."
    if update.level < 0:
        return "A feature version cannot be less than 0."
    if update.level == 0 and update.name not in supported:
        return f"Feature {update.name} not found."
    reason = _reason_not_supported(update, f"Local controller {node_id}", supported)
    if reason is not None:
        return reason
    is_upgrade = update.upgrade_type == UpgradeType.UPGRADE
    if update.level < before and is_upgrade:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to "
            "either safe or unsafe downgrade."
        )
    if update.level > before and not is_upgrade:
        return "Can't downgrade to a newer version."
    return None


def _reason_of_a_broker(update: FeatureUpdate, brokers: Mapping[int, Supported]) -> str | None:
    """Source: FeatureControlManager.reasonNotSupported."""
    reasons = (
        _reason_not_supported(update, f"Broker {node_id}", supported)
        for node_id, supported in brokers.items()
    )
    return next(filter(None, reasons), None)


def _reason_not_supported(update: FeatureUpdate, who: str, supported: Supported) -> str | None:
    """Source: QuorumFeatures.reasonNotSupported."""
    feature = supported.get(update.name)
    if feature is None:
        return f"{who} does not support this feature." if update.level else None
    if not feature.min_level <= update.level <= feature.max_level:
        return f"{who} only supports versions {feature.min_level}-{feature.max_level}"
    return None


def _against_metadata_downgrade(update: FeatureUpdate, before: int) -> str:
    """Return why metadata.version cannot go down: the log has records of the higher level.

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
