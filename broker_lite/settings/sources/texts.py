"""Reads settings from files and environment as texts by name; checks neither names nor values."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from broker_lite.errors import SettingsError
from broker_lite.settings.sources.java_properties import parse_properties
from broker_lite.settings.values import join

_PREFIX = "KAFKA_"
_BITNAMI_PREFIX = "KAFKA_CFG_"
_NOT_SETTINGS = frozenset(
    {
        "KAFKA_CLASSPATH",
        "KAFKA_CLUSTER_ID",
        "KAFKA_CREATE_TOPICS",
        "KAFKA_CREATE_TOPICS_SEPARATOR",
        "KAFKA_DEBUG",
        "KAFKA_ENABLE_KRAFT",
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_HEAP_OPTS",
        "KAFKA_HOME",
        "KAFKA_KRAFT_CLUSTER_ID",
        "KAFKA_OPTS",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_VERSION",
    }
)
# prefixes of variables for Java's logging and monitoring, and for other programs in the same images
_NOT_SETTINGS_OF = ("KAFKA_LOG4J_", "KAFKA_JMX_", "KAFKA_REST_", "KAFKA_CONFLUENT_")


def read_file(path: Path) -> dict[str, str]:
    """Read a settings file: TOML if its name is *.toml, else Java properties.

    Raises:
        SettingsError: the file cannot be read, or its syntax is wrong.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SettingsError(f"{path}: cannot be read: {reason}") from error
    if not is_toml(path):
        return parse_properties(text)
    import tomllib  # takes 3 ms, and most starts do not need it

    try:
        return dict(_flatten(path, "", tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: {error}") from error


def is_toml(path: Path) -> bool:
    """Whether a settings file has broker-lite's format, in which an unknown name is an error."""
    return path.suffix.lower() == ".toml"


def _flatten(path: Path, prefix: str, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield names and texts; join the names of nested tables with dots, arrays with commas."""
    for key, value in table.items():
        name = prefix + key
        match value:
            case dict():
                yield from _flatten(path, f"{name}.", value)
            case list():
                yield name, join([_scalar(path, name, item) for item in value])
            case _:
                yield name, _scalar(path, name, value)


def _scalar(path: Path, name: str, value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float() | str():
            return str(value)
        case _:
            raise SettingsError(f"{path}: {name}: a value cannot be a {type(value).__name__}")


def read_environment(environment: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Read the KAFKA_* variables as the apache/kafka image does; return name to variable and text.

    `___` means a dash, `__` an underscore, `_` a dot. KAFKA_CFG_* variables, as in the
    bitnami/kafka image, mean the same settings; KAFKA_* variables override them. Variables of
    Kafka's scripts and images that are not settings are left out.
    """
    found = {}
    for variable in sorted(environment, key=lambda name: not name.startswith(_BITNAMI_PREFIX)):
        if not variable.startswith(_PREFIX) or variable in _NOT_SETTINGS:
            continue
        if variable.startswith(_NOT_SETTINGS_OF):
            continue
        name = variable.removeprefix(_BITNAMI_PREFIX).removeprefix(_PREFIX).lower()
        # The longest is replaced first. \0 marks underscores, because no variable's name has it.
        name = name.replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")
        found[name] = (variable, environment[variable])
    return found
