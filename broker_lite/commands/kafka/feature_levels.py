"""Names of the levels of Kafka's features, and the levels of each release.

Source: MetadataVersion, and the feature enumerations beside it.
"""

from collections.abc import Mapping
from typing import Final

from broker_lite.errors import SettingsError

METADATA_VERSION: Final = "metadata.version"

_FIRST_LEVEL: Final = 7
_RELEASES: Final[Mapping[str, tuple[int, int]]] = {
    "3.3": (3, 3),
    "3.4": (0, 0),
    "3.5": (0, 2),
    "3.6": (0, 2),
    "3.7": (0, 4),
    "3.8": (0, 0),
    "3.9": (0, 0),
    "4.0": (0, 3),
    "4.1": (0, 1),
    "4.2": (0, 1),
    "4.3": (0, 0),
    "4.4": (0, 0),
}
"""The first and the last level of each release, as the number behind IV."""
_NAMES: Final = [
    f"{release}-IV{number}"
    for release, (first, last) in _RELEASES.items()
    for number in range(first, last + 1)
]
_LATEST_RELEASE: Final = "4.3-IV0"
"""The latest release for Kafka 4.3.1's tool, which also knows a level of a future release."""

# The level of each other feature, and the metadata.version with which it became the default.
_FEATURES: Final[Mapping[str, tuple[int, int]]] = {
    "kraft.version": (1, 21),
    "transaction.version": (2, 24),
    "group.version": (1, 22),
    "eligible.leader.replicas.version": (1, 26),
    "share.version": (1, 28),
    "streams.version": (1, 29),
}
_DEPENDENCIES: Final[Mapping[tuple[str, int], int]] = {("eligible.leader.replicas.version", 1): 23}
"""The metadata.version that a level of a feature needs."""


def level_text(feature: str, level: int) -> str:
    """Format a level; levels of metadata.version have names."""
    if feature != METADATA_VERSION:
        return str(level)
    index = level - _FIRST_LEVEL
    return _NAMES[index] if 0 <= index < len(_NAMES) else f"UNKNOWN [{level}]"


def metadata_level(name: str) -> int:
    """Return the level of a name; a release stands for its last level.

    Raises:
        SettingsError: there is no such level.
    """
    if name in _NAMES:
        return _FIRST_LEVEL + _NAMES.index(name)
    if name not in _RELEASES:
        known = ", ".join(_NAMES)
        raise SettingsError(
            f"Unknown metadata.version '{name}'. Supported metadata.version are: {known}"
        )
    return _FIRST_LEVEL + _NAMES.index(f"{name}-IV{_RELEASES[name][1]}")


def release_levels(name: str | None = None) -> dict[str, int]:
    """Return the levels of all features in a release, metadata.version first.

    Args:
        name: of the release; None means the latest.

    Raises:
        SettingsError: there is no such release.
    """
    metadata = metadata_level(name or _LATEST_RELEASE)
    return {
        METADATA_VERSION: metadata,
        **{
            feature: level if metadata >= since else 0
            for feature, (level, since) in _FEATURES.items()
        },
    }


def release_lines(name: str | None = None) -> list[str]:
    """Return the output of `version-mapping`."""
    levels = release_levels(name)
    levels_text = f"{METADATA_VERSION}={levels.pop(METADATA_VERSION)} ({name or _LATEST_RELEASE})"
    return [levels_text, *(f"{feature}={level}" for feature, level in levels.items())]


def dependency_lines(feature: str, level: int) -> list[str]:
    """Return the output of `feature-dependencies` for a level of a feature.

    Raises:
        SettingsError: there is no such feature or level.
    """
    if feature == METADATA_VERSION:
        highest, lowest = _FIRST_LEVEL + len(_NAMES) - 1, _FIRST_LEVEL
    elif feature in _FEATURES:
        highest, lowest = _FEATURES[feature][0], 0
    else:
        raise SettingsError(f"Unknown feature: {feature}")
    if not lowest <= level <= highest:
        raise SettingsError(f"No feature:{feature} with feature level {level}")
    named = f" ({level_text(feature, level)})" if feature == METADATA_VERSION else ""
    needed = _DEPENDENCIES.get((feature, level))
    if needed is None:
        return [f"{feature}={level}{named} has no dependencies."]
    return [
        f"{feature}={level}{named} requires:",
        f"    {METADATA_VERSION}={needed} ({level_text(METADATA_VERSION, needed)})",
    ]
