"""What a setting is: one declaration, from which everything else about it follows."""

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
    """Where a value comes from, numbered as DescribeConfigs numbers it.

    See: P-121 (DescribeConfigsResponse.ConfigSource).
    """

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    GROUP = 8


@dataclass(frozen=True, slots=True)
class Synonym:
    """A broker setting that gives a topic setting its default; `unit` times its value."""

    name: str
    unit: int = 1


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Args:
        name: Kafka's name.
        kind: its type.
        default: the text of its default, None for Kafka's null.
        doc: one sentence for people.
        validator: what is allowed beyond the type.
        scope: where it can be set.
        dynamic: whether a broker that runs takes a new value (P-131); topic settings always are.
        synonyms: of a topic setting, the broker settings behind it, the strongest first.
        kafka_default: the text of Kafka's default where ours is another.
        own: whether it is ours, not Kafka's.
        internal: whether it is left out of answers and tables, as Kafka does with its own; answers
            have it when it is set.
        per_broker: whether a change is for one broker, never for all.
        per_listener: whether a change is for one listener of one broker, by a prefix of its name.
        ignored: whether it has no effect here, and who sets it at the start is told so.
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
        """Its name as a Python attribute."""
        return self.name.replace(".", "_").replace("-", "_")

    @property
    def is_sensitive(self) -> bool:
        """Whether its value is never told."""
        return self.kind is ConfigType.PASSWORD

    @property
    def allowed(self) -> str:
        """What can be set, for people."""
        if self.validator is not None:
            return self.validator.describe()
        return "true, false" if self.kind is ConfigType.BOOLEAN else self.kind.name.lower()

    def parse(self, text: str) -> Value:
        """Read a text as a value of this setting.

        Raises:
            InvalidValue: it is none; the text is Kafka's.
        """
        return parse(self.name, self.kind, text, self.validator)

    def default_value(self) -> Value:
        """The default, parsed."""
        return None if self.default is None else parse(self.name, self.kind, self.default, None)
