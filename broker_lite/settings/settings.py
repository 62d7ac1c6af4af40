"""The settings of one broker, fixed from its start on."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from broker_lite.settings.declarations import BROKER_SETTINGS
from broker_lite.settings.setting import ConfigSource, InvalidValue
from broker_lite.settings.values import Value

_NAME_OF_ATTRIBUTE: Final = {setting.attribute: name for name, setting in BROKER_SETTINGS.items()}


class Given(NamedTuple):
    """A value that somebody gave: its text and who did ("KAFKA_NODE_ID", "server.properties")."""

    text: str
    origin: str


class Settings:
    """A frozen view on all broker settings, with the settings' names in snake case as attributes.

    `settings.log_segment_bytes` is the value of log.segment.bytes. Who needs a value per request
    or per batch copies it into an attribute of their own.

    Args:
        given: what differs from the defaults, by name; all of it is known.
        dynamic: what DescribeConfigs calls dynamic broker configs, stronger than `given` (P-131).
        dynamic_default: the same for all brokers of the cluster, between both.

    Raises:
        InvalidValue: a text is no value of its setting; the text of the error is Kafka's.
    """

    __slots__ = ("_dynamic", "_dynamic_default", "_given", "_values")

    _given: Mapping[str, Given]
    _dynamic: Mapping[str, str]
    _dynamic_default: Mapping[str, str]
    _values: Mapping[str, Value]

    def __init__(
        self,
        given: Mapping[str, Given] | None = None,
        *,
        dynamic: Mapping[str, str] | None = None,
        dynamic_default: Mapping[str, str] | None = None,
    ) -> None:
        values = {name: setting.default_value() for name, setting in BROKER_SETTINGS.items()}
        texts = {name: one.text for name, one in (given or {}).items()}
        for layer in (texts, dynamic_default or {}, dynamic or {}):
            for name, text in layer.items():
                if name in BROKER_SETTINGS:
                    values[name] = BROKER_SETTINGS[name].parse(text)
        if values["log.retention.ms"] == 0:
            reason = "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"
            raise InvalidValue(f"requirement failed: {reason}")
        for slot, value in (
            ("_given", dict(given or {})),
            ("_dynamic", dict(dynamic or {})),
            ("_dynamic_default", dict(dynamic_default or {})),
            ("_values", values),
        ):
            object.__setattr__(self, slot, value)

    def __getattr__(self, attribute: str) -> Any:
        """The value of the setting of that name in snake case."""
        name = _NAME_OF_ATTRIBUTE.get(attribute)
        if name is None:
            raise AttributeError(f"no setting is called {attribute}")
        return self._values[name]

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError("settings are frozen")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._given, self._dynamic, self._dynamic_default)

    def value(self, name: str) -> Value:
        """The effective value of a broker setting by Kafka's name."""
        return self._values[name]

    def source_of(self, name: str) -> ConfigSource:
        """Where the effective value of a broker setting comes from (P-121)."""
        if name in self._dynamic:
            return ConfigSource.DYNAMIC_BROKER
        if name in self._dynamic_default:
            return ConfigSource.DYNAMIC_DEFAULT_BROKER
        return ConfigSource.STATIC_BROKER if name in self._given else ConfigSource.DEFAULT

    def origin_of(self, name: str) -> str:
        """Who gave the value of a broker setting, for a person: a file, variable or flag."""
        if name in self._dynamic or name in self._dynamic_default:
            return "dynamic"
        given = self._given.get(name)
        return given.origin if given is not None else "default"

    def texts_of(self, name: str) -> list[tuple[ConfigSource, str]]:
        """Every text that there is for a broker setting, the strongest first (P-122)."""
        found: list[tuple[ConfigSource, str]] = []
        if name in self._dynamic:
            found.append((ConfigSource.DYNAMIC_BROKER, self._dynamic[name]))
        if name in self._dynamic_default:
            found.append((ConfigSource.DYNAMIC_DEFAULT_BROKER, self._dynamic_default[name]))
        if name in self._given:
            found.append((ConfigSource.STATIC_BROKER, self._given[name].text))
        setting = BROKER_SETTINGS.get(name)
        if setting is not None and setting.default is not None:
            found.append((ConfigSource.DEFAULT, setting.default))
        return found

    @property
    def given(self) -> Mapping[str, Given]:
        """What differs from the defaults since the start, by name."""
        return dict(self._given)

    @property
    def dynamic(self) -> Mapping[str, str]:
        """The dynamic settings of this broker, unknown names included (P-131)."""
        return dict(self._dynamic)

    @property
    def dynamic_default(self) -> Mapping[str, str]:
        """The dynamic settings of all brokers of the cluster."""
        return dict(self._dynamic_default)

    def with_dynamic(
        self, dynamic: Mapping[str, str], dynamic_default: Mapping[str, str] | None = None
    ) -> "Settings":
        """The same settings under other dynamic ones, which replace those there were (P-131).

        Raises:
            InvalidValue: a text is no value of its setting.
        """
        return Settings(self._given, dynamic=dynamic, dynamic_default=dynamic_default)


def _restore(
    given: Mapping[str, Given], dynamic: Mapping[str, str], dynamic_default: Mapping[str, str]
) -> Settings:
    return Settings(given, dynamic=dynamic, dynamic_default=dynamic_default)
