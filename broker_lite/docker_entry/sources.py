"""Collects a broker's settings in a container: the image, a mounted file, the environment.

The environment is read as by the images of Apache, Confluent and Bitnami. All special handling for
these images is in this module, but that of key stores.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.docker_entry.secrets import SECRETS, with_secrets
from broker_lite.settings.sources.texts import read_environment

IMAGE: Final = "the image"
"""Where a setting comes from that nobody chose."""

_DEFAULTS: Final = {
    "listeners": "PLAINTEXT://:9092",
    "log.dirs": "/data",
    "broker.lite.control": "0.0.0.0:9099",
    "broker.lite.gateway.advertised": "localhost",
}
# where users of other images mount volumes and settings
_DATA_MOUNTS: Final = ("/var/lib/kafka/data", "/bitnami/kafka")
_CONFIG_FILES: Final = (
    "/mnt/shared/config/server.properties",
    "/bitnami/kafka/config/server.properties",
)
_CLUSTER_ID_VARIABLES: Final = ("CLUSTER_ID", "KAFKA_KRAFT_CLUSTER_ID", "KAFKA_CLUSTER_ID")
# variables of wurstmeister/kafka and debezium/kafka, in the same format
_TOPICS_VARIABLES: Final = ("KAFKA_CREATE_TOPICS", "CREATE_TOPICS")
_SEPARATOR_VARIABLE: Final = "KAFKA_CREATE_TOPICS_SEPARATOR"
_TOPIC: Final = re.compile(r"([^:]+):(\d+):\d+(?::(.+))?", re.ASCII)
_ADDRESS: Final = re.compile(r"([^:/]+)://.*:(\d+)", re.ASCII)
_LISTENER_SETTINGS: Final = ("listeners", "advertised.listeners")


class Sources(NamedTuple):
    """The sources of settings; later ones win.

    Args:
        surroundings: the image's replacements for defaults: name to text and origin.
        config_file: a mounted one.
        environment: without blank variables.
        warnings: lines about values that were changed.
    """

    surroundings: Mapping[str, tuple[str, str]]
    config_file: Path | None
    environment: Mapping[str, str]
    warnings: tuple[str, ...]


def read_sources(
    environment: Mapping[str, str],
    *,
    exists: Callable[[str], bool],
    is_mount: Callable[[str], bool],
    secrets: Path = SECRETS,
) -> Sources:
    """Collect the sources.

    Args:
        environment: of the container.
        exists: whether a path exists; it may be a folder, which Docker creates for a missing file.
        is_mount: whether a volume is mounted at a path.
        secrets: the folder of key stores and their passwords.

    Raises:
        SettingsError: the file of a password cannot be read.
    """
    # a compose file that forwards an unset variable sets it to a blank
    kept = {
        name: text
        for name, text in environment.items()
        if text.strip() or (text and name == _SEPARATOR_VARIABLE)
    }
    kept = with_secrets(kept, secrets)
    warnings: list[str] = []
    for name, (variable, text) in read_environment(kept).items():
        if name in _LISTENER_SETTINGS:
            kept[variable] = _without_blanks(text)
        elif name == "log.dirs":
            kept[variable] = _first_directory(variable, text, warnings)
    config_file = next(filter(exists, _CONFIG_FILES), None)
    return Sources(
        _surroundings(kept, next(filter(is_mount, _DATA_MOUNTS), None)),
        None if config_file is None else Path(config_file),
        kept,
        tuple(warnings),
    )


def _surroundings(
    environment: Mapping[str, str], data_mount: str | None
) -> dict[str, tuple[str, str]]:
    found = {name: (text, IMAGE) for name, text in _DEFAULTS.items()}
    if data_mount is not None:
        found["log.dirs"] = (data_mount, "the volume")
    variable, advertised = read_environment(environment).get("advertised.listeners", ("", ""))
    listeners = _listeners_of(advertised)
    if listeners is not None:
        found["listeners"] = (listeners, variable)
    given = [variable for variable in _TOPICS_VARIABLES if variable in environment]
    if given:
        separator = environment.get(_SEPARATOR_VARIABLE, ",")
        topics = "\n".join(_topics(environment[variable], separator) for variable in given)
        found["broker.lite.topics"] = (topics, " and ".join(given))
    for variable in filter(environment.__contains__, reversed(_CLUSTER_ID_VARIABLES)):
        found["broker.lite.cluster.id"] = (environment[variable].strip(), variable)
    return found


def _without_blanks(text: str) -> str:
    """Remove the empty items that scripts leave when they join lists."""
    return ",".join(filter(None, (item.strip() for item in text.split(","))))


def _first_directory(variable: str, text: str, warnings: list[str]) -> str:
    first, _, rest = _without_blanks(text).partition(",")
    if rest:
        warnings.append(f"{variable}: broker-lite keeps its data in one directory, {first}")
    return first


def _listeners_of(advertised: str) -> str | None:
    """Return listeners at every address, one per advertised listener, as Kafka's image does.

    None for anything but a list of addresses, because the error should name the variable.
    """
    found = [_ADDRESS.fullmatch(entry) for entry in advertised.split(",")]
    return ",".join(f"{one[1]}://:{one[2]}" for one in found if one) if all(found) else None


def _topics(text: str, separator: str) -> str:
    """Convert topics from NAME:PARTITIONS:REPLICAS[:POLICY] to our format.

    Each character of `separator` separates, as in the shell scripts of those images.
    """
    found = []
    items = re.split(f"[{re.escape(separator)}]", text)
    for entry in filter(None, (item.strip() for item in items)):
        topic = _TOPIC.fullmatch(entry)
        if topic is None:
            found.append(entry)  # in our format, or refused later
        else:
            policy = f":cleanup.policy={topic[3]}" if topic[3] else ""
            found.append(f"{topic[1]}:{topic[2]}{policy}")
    return "\n".join(found)
