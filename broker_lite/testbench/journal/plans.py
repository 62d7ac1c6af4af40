"""Which fields a struct of a message has in a version, looked up once for each."""

from functools import lru_cache
from typing import Final, NamedTuple

from broker_lite.wire import messages
from broker_lite.wire.codegen import Layout
from broker_lite.wire.schema import Field

_PLANS_MAX: Final = 2048
"""More than there are versions of requests and answers."""


class StructPlan(NamedTuple):
    """The fields of one struct in one version: those in their order, and those with a tag."""

    plain: tuple[Field, ...]
    tagged: dict[int, Field]

    @property
    def all(self) -> tuple[Field, ...]:
        """All fields."""
        return (*self.plain, *self.tagged.values())


class Plan(NamedTuple):
    """The structs of one message in one version."""

    layout: Layout
    structs: dict[str, StructPlan]

    @property
    def root(self) -> str:
        """The name of the root struct."""
        return self.layout.schema.name


@lru_cache(_PLANS_MAX)
def plan(name: str, version: int) -> Plan | None:
    """Return the structs of a message, None if there is no such version."""
    layout = messages.message(name).layout(version)
    if layout is None:
        return None
    structs = {
        struct: StructPlan(
            tuple(layout.plain_fields(struct)),
            {field.tag: field for field in layout.tagged_fields(struct)},
        )
        for struct in layout.schema.structs
    }
    return Plan(layout, structs)
