"""Combines all sources of settings, from weak to strong: surroundings, file, environment, flags."""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from broker_lite.errors import SettingsError
from broker_lite.settings.declared.declarations import BROKER_SETTINGS, TOPIC_SETTINGS
from broker_lite.settings.listeners import parse_listeners
from broker_lite.settings.setting import InvalidValue
from broker_lite.settings.settings import Given, Settings
from broker_lite.settings.sources.open_broker import check_unserved, jaas_file, served_of_listener
from broker_lite.settings.sources.texts import is_toml, read_environment, read_file

_log = logging.getLogger("broker_lite.settings")


def load_settings(
    config_file: Path | None = None,
    env: Mapping[str, str] | None = None,
    overrides: Iterable[tuple[str, str]] | Mapping[str, str] = (),
    *,
    surroundings: Mapping[str, tuple[str, str]] | None = None,
    flags: Mapping[str, tuple[str, str]] | None = None,
    warnings: list[str] | None = None,
) -> Settings:
    """Return the settings of one broker; later sources override earlier ones.

    Args:
        config_file: *.toml is broker-lite's format, every other file is Java properties.
        env: the environment; only variables KAFKA_* are read.
        overrides: names and texts of `--set`.
        surroundings: values that replace defaults because of where the broker runs: name to text
            and origin.
        flags: settings that have a flag of their own: name to text and flag; override `--set`.
        warnings: gets a line for each unknown name in a source in Kafka's format; without this
            list, the lines are logged.

    Raises:
        SettingsError: one line with the source, the setting, the value and what is allowed.
    """
    notes: list[str] = [] if warnings is None else warnings
    given: dict[str, Given] = {}
    for name, (text, origin) in (surroundings or {}).items():
        _add(given, name, Given(text, origin), None)
    if config_file is not None:
        strict = is_toml(config_file)
        for name, text in read_file(config_file).items():
            _add(given, name, Given(text, str(config_file)), None if strict else notes)
    users = jaas_file(env or {})
    if users is not None:
        _add(given, "broker.lite.jaas.file", Given(users, "KAFKA_OPTS"), notes)
    for name, (variable, text) in read_environment(env or {}).items():
        _add(given, name, Given(text, variable), notes)
    pairs = overrides.items() if isinstance(overrides, Mapping) else overrides
    for name, text in pairs:
        _add(given, name, Given(text, "--set"), None)
    for name, (text, flag) in (flags or {}).items():
        _add(given, name, Given(text, flag), None)
    _join_node_and_broker_id(given)
    settings = _build(given)
    parse_listeners(settings)
    if warnings is None:
        for note in notes:
            _log.warning("%s", note)
    return settings


def with_flag(settings: Settings, name: str, text: str, flag: str) -> Settings:
    """Return the settings with one value changed, as a flag would do it.

    No source is read again, because that fails if the file is a pipe.

    Raises:
        SettingsError: one line with the flag, the setting, the value and what is allowed.
    """
    return with_flags(settings, {name: text}, flag)


def with_flags(settings: Settings, texts: Mapping[str, str], flag: str) -> Settings:
    """Return the settings with several values changed, as with_flag() does with one.

    Raises:
        SettingsError: see with_flag().
    """
    given = dict(settings.given)
    for name, text in texts.items():
        _add(given, name, Given(text, flag), None)
    changed = _build(given)
    parse_listeners(changed)
    return changed


def parse_assignment(text: str) -> tuple[str, str]:
    """Split `name=value`, the argument of `--set`.

    Raises:
        SettingsError: there is no name or no `=`.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise SettingsError(f"--set {text}: write name=value")
    return name.strip(), value.strip()


def _add(given: dict[str, Given], name: str, one: Given, notes: list[str] | None) -> None:
    """Add a value; for an unknown name add a note, or raise an error if there are no notes."""
    setting = BROKER_SETTINGS.get(name) or served_of_listener(name)
    check_unserved(name, setting, one.text, one.origin)
    if setting is None:
        line = f"{one.origin}: {_unknown(name)}"
        if notes is None:
            raise SettingsError(line)
        notes.append(f"{line}; ignored")
        return
    try:
        setting.parse(one.text)
    except InvalidValue as error:
        told = setting.allowed in str(error)
        allowed = "" if told else f" (allowed: {setting.allowed})"
        raise SettingsError(f"{one.origin}: {error}{allowed}") from error
    if setting.ignored:
        note = f"{one.origin}: {name} has no effect here"
        if notes is None:
            raise SettingsError(note)
        notes.append(note)
    given[name] = one


def _unknown(name: str) -> str:
    if name.startswith("zookeeper."):
        return f"{name}: broker-lite needs no ZooKeeper"
    return f"unknown setting {name}{_suggestion(name)}"


def _suggestion(name: str) -> str:
    topic = TOPIC_SETTINGS.get(name)
    if topic is not None and topic.synonyms:
        return f" (it is a setting of topics; set their default by {topic.synonyms[0].name})"
    from difflib import get_close_matches  # takes 8 ms, and is needed only after a typing error

    close = get_close_matches(name, BROKER_SETTINGS, n=1, cutoff=0.75)
    return f" (did you mean {close[0]}?)" if close else ""


def _join_node_and_broker_id(given: dict[str, Given]) -> None:
    """Make both names of the node's id agree: node.id wins; a negative broker.id does not count."""
    if "node.id" in given:
        given["broker.id"] = given["node.id"]
    elif "broker.id" in given and int(given["broker.id"].text) >= 0:
        given["node.id"] = given["broker.id"]


def _build(given: Mapping[str, Given]) -> Settings:
    try:
        settings = Settings(given)
    except InvalidValue as error:
        raise SettingsError(str(error)) from error
    for name in ("log.dirs", "log.dir"):
        if len(settings.value(name) or ()) > 1:  # type: ignore[arg-type]
            origin = given[name].origin
            raise SettingsError(f"{origin}: {name}: broker-lite keeps its data in one directory")
    return settings
