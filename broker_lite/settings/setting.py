"""The declaration of a setting, from which everything else about it follows."""

from dataclasses import dataclass
from enum import Flag, IntEnum

from broker_lite.settings.values import ConfigType, InvalidValue, Validator, Value, parse

__all__ = ["ConfigSource", "ConfigType", "InvalidValue", "Scope", "Setting", "Synonym"]


class Scope(Flag):
    """Where a setting can be set."""

    BROKER = 1
    TOPIC = 2
    BOTH = 3


class ConfigSource(IntEnum):
    """Where a value comes from, with the numbers of DescribeConfigs.

    See: P-121 (DescribeConfigsResponse.ConfigSource).
    """

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


@dataclass(frozen=True, slots=True)
class Synonym:
    """A broker setting that has the default of a topic setting: `unit` times its value."""

    name: str
    unit: int = 1


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Args:
        name: Kafka's name.
        kind: the type of its values.
        default: the text of its default, None for Kafka's null.
        doc: a short explanation for people.
        validator: checks values beyond their type.
        scope: where it can be set.
        dynamic: whether a running broker accepts a new value (P-131); always true for topics.
        synonyms: for a topic setting, the broker settings that have its default; the first wins.
        kafka_default: the text of Kafka's default if it differs from the default here.
        own: whether only broker-lite has it, not Kafka.
        internal: whether tables leave it out, and answers do so unless it is set; as Kafka does
            with its internal settings.
        per_broker: whether it can be changed only for one broker, not for all.
        per_listener: whether it can be changed only for one listener of one broker, by a prefix of
            its name.
        ignored: whether it has no effect here; setting it at the start causes a warning or error.
    """

    name: str
    kind: ConfigType
    default: str | None
    doc: str
    validator: Validator | None = None
    scope: Scope = Scope.BROKER
    dynamic: bool = False
    synonyms: tuple[Synonym, ...] = ()
    kafka_default: str | None = None
    own: bool = False
    internal: bool = False
    per_broker: bool = False
    per_listener: bool = False
    ignored: bool = False

    @property
    def attribute(self) -> str:
        """The setting's name as a Python attribute."""
        return self.name.replace(".", "_").replace("-", "_")

    @property
    def is_sensitive(self) -> bool:
        """Whether the value is secret, so that answers leave it out."""
        return self.kind is ConfigType.PASSWORD

    @property
    def allowed(self) -> str:
        """The allowed values, in words for people."""
        if self.validator is not None:
            return self.validator.describe()
        return "true, false" if self.kind is ConfigType.BOOLEAN else self.kind.name.lower()

    def parse(self, text: str) -> Value:
        """Parse a text as a value of this setting.

        Raises:
            InvalidValue: the text is not an allowed value; the error's text is Kafka's.
        """
        return parse(self.name, self.kind, text, self.validator)

    def default_value(self) -> Value:
        """Return the default as a parsed value."""
        return None if self.default is None else parse(self.name, self.kind, self.default, None)
