"""Reads script files: JSON, YAML where PyYAML is installed, and records of runs.

It imports no more than that needs, because tests read such files in their own process.
"""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

from broker_lite.errors import SettingsError
from broker_lite.settings import Settings, with_flag
from broker_lite.settings.sources.broker_count import fit_brokers

_YAML: Final = (".yaml", ".yml")
_SETTING: Final = "broker.lite.script"
_BROKERS: Final = "broker.lite.brokers"


def read_script_file(path: str | Path) -> dict[str, object]:
    """Return the script or the record in a file, not checked yet.

    Raises:
        SettingsError: it cannot be read, or is no JSON or YAML object; one line with the path.
    """
    path = Path(path)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SettingsError(f"{path}: cannot be read: {reason}") from error
    found = _yaml(text, path) if path.suffix.lower() in _YAML else _json(text, path)
    if not isinstance(found, dict):
        raise SettingsError(f"{path}: a script is an object with rules, steps, ...")
    return found


def is_record(found: Mapping[str, object]) -> bool:
    """True if what a file has is the record of a run, not a script."""
    return "script" in found


def with_script(settings: Settings) -> Settings:
    """Return the settings with the topics and the number of brokers that their script asks for.

    Raises:
        SettingsError: the file cannot be read, or needs more brokers than the settings allow.
    """
    path = settings.broker_lite_script
    if not path:
        return settings
    found = read_script_file(path)
    inner = found.get("script")
    script: Mapping[str, object] = inner if isinstance(inner, dict) else found
    brokers = script.get("brokers", 1)
    if isinstance(brokers, int) and brokers > settings.broker_lite_brokers:
        if _BROKERS in settings.given:
            raise SettingsError(f"{path}: it needs {brokers} brokers, see {_BROKERS}")
        settings = fit_brokers(with_flag(settings, _BROKERS, str(brokers), _SETTING))
    topics = script.get("topics")
    if isinstance(topics, list) and topics:
        text = "\n".join([settings.broker_lite_topics, *map(str, topics)]).strip()
        settings = with_flag(settings, "broker.lite.topics", text, path)
    return settings


def _json(text: str, path: Path) -> object:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: not JSON: {error}") from None
    return found


def _yaml(text: str, path: Path) -> object:
    try:
        yaml = import_module("yaml")
    except ImportError:
        reason = "YAML needs PyYAML: pip install 'broker-lite[yaml]'; JSON does not"
        raise SettingsError(f"{path}: {reason}") from None
    try:
        # dates and other things that JSON does not have are refused
        found: object = json.loads(json.dumps(yaml.safe_load(text)))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise SettingsError(f"{path}: {' '.join(str(error).split())}") from None
    return found
