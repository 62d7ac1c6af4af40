"""The settings of one broker; an immutable object, replaced when dynamic settings change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_lite.settings.attributes import SettingAttributes
from broker_lite.settings.declared.declarations import BROKER_SETTINGS, listener_prefix
from broker_lite.settings.setting import ConfigSource
from broker_lite.settings.together import check_together
from broker_lite.settings.values import AUTO, Value

_NAME_OF_ATTRIBUTE: Final = {setting.attribute: name for name, setting in BROKER_SETTINGS.items()}
_DEFAULTS: Final = {name: setting.default_value() for name, setting in BROKER_SETTINGS.items()}


class Given(NamedTuple):
    """A value that was set at the start: its text and its origin, as "KAFKA_NODE_ID" or a file."""

    text: str
    origin: str


@dataclass(frozen=True, slots=True)
class Settings(SettingAttributes):
    """All settings of a broker, with their names in snake case as attributes.

    `settings.log_segment_bytes` is the value of log.segment.bytes. To read it takes longer than
    other attributes, so code that needs a value for each request or batch keeps a copy of it.

    Args:
        given: the values that were set at the start, by name; only known settings, those of a
            listener with its prefix.
        dynamic: dynamic settings of this broker, including unknown names (P-131).
        dynamic_default: dynamic settings of all brokers of the cluster; `dynamic` overrides them.

    Raises:
        InvalidValue: a text is not an allowed value of its setting; the error's text is Kafka's.
    """

    given: Mapping[str, Given] = field(default_factory=dict)
    dynamic: Mapping[str, str] = field(default_factory=dict)
    dynamic_default: Mapping[str, str] = field(default_factory=dict)
    _values: Mapping[str, Value] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values = dict(_DEFAULTS)
        texts = {name: one.text for name, one in self.given.items()}
        for layer in (texts, self.dynamic_default, self.dynamic):
            for name, text in layer.items():
                if name in BROKER_SETTINGS:
                    values[name] = BROKER_SETTINGS[name].parse(text)
        check_together(values)
        object.__setattr__(self, "_values", values)

    if not TYPE_CHECKING:  # with __getattr__, the type checker would accept every name

        def __getattr__(self, attribute: str) -> Value:
            """Return the value of the setting with this name in snake case."""
            name = _NAME_OF_ATTRIBUTE.get(attribute)
            if name is None:
                raise AttributeError(f"no setting is called {attribute}")
            return self._values[name]

    @property
    def process_count(self) -> int:
        """How many processes there are, each with one broker; `auto` is replaced at the start."""
        text = self.broker_lite_processes
        return 1 if text == AUTO else int(text)

    @property
    def broker_count(self) -> int:
        """How many brokers the cluster has, in this process and in others."""
        return self.broker_lite_brokers * self.process_count

    def value(self, name: str) -> Value:
        """Return the effective value of a broker setting by Kafka's name."""
        return self._values[name]

    def value_for_listener(self, listener: str, name: str, mechanism: str = "") -> Value:
        """Return the value of a setting for one listener: its own, or else the broker's.

        Args:
            listener: its name, in any case.
            name: of the setting, without a prefix.
            mechanism: of SASL; its own value wins over that of the listener.

        Raises:
            InvalidValue: the listener has a value that is not allowed.
        """
        own = self.own_of_listener(listener, name, mechanism)
        if own is None and mechanism:
            own = self.own_of_listener(listener, name)
        return self.value(name) if own is None else BROKER_SETTINGS[name].parse(own.text)

    def own_of_listener(self, listener: str, name: str, mechanism: str = "") -> Given | None:
        """Return what is set with the prefix of a listener, or of a mechanism of it.

        Args:
            listener: its name, in any case.
            name: of the setting, without a prefix.
            mechanism: of SASL, in any case; what is set for the whole listener does not count.
        """
        key = listener_prefix(listener, mechanism) + name
        return Given(self.dynamic[key], "dynamic") if key in self.dynamic else self.given.get(key)

    def source_of(self, name: str) -> ConfigSource:
        """Return the source of a broker setting's effective value (P-121)."""
        if name in self.dynamic:
            return ConfigSource.DYNAMIC_BROKER
        if name in self.dynamic_default:
            return ConfigSource.DYNAMIC_DEFAULT_BROKER
        return ConfigSource.STATIC_BROKER if name in self.given else ConfigSource.DEFAULT

    def origin_of(self, name: str) -> str:
        """Return where a broker setting was set, for a person: a file, variable or flag."""
        if name in self.dynamic or name in self.dynamic_default:
            return "dynamic"
        given = self.given.get(name)
        return given.origin if given is not None else "default"

    def texts_of(self, name: str) -> list[tuple[ConfigSource, str]]:
        """Return all values of a broker setting as texts, the strongest first (P-122)."""
        found: list[tuple[ConfigSource, str]] = []
        if name in self.dynamic:
            found.append((ConfigSource.DYNAMIC_BROKER, self.dynamic[name]))
        if name in self.dynamic_default:
            found.append((ConfigSource.DYNAMIC_DEFAULT_BROKER, self.dynamic_default[name]))
        if name in self.given:
            found.append((ConfigSource.STATIC_BROKER, self.given[name].text))
        setting = BROKER_SETTINGS.get(name)
        if setting is not None and setting.default is not None:
            found.append((ConfigSource.DEFAULT, setting.default))
        return found

    def with_dynamic(
        self, dynamic: Mapping[str, str], dynamic_default: Mapping[str, str] | None = None
    ) -> "Settings":
        """Return these settings with other dynamic ones, which replace the old ones (P-131).

        Raises:
            InvalidValue: a text is not an allowed value of its setting.
        """
        return Settings(self.given, dynamic, dynamic_default or {})
