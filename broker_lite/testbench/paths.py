"""Paths to fields of decoded messages: "brokers[0].port", "topics[].partitions[].fetch_offset".

Names are those of Kafka's schemas, in snake case or as Kafka spells them. `[]` means each element.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from broker_lite.wire.schema import Field, snake_case
from broker_lite.wire.structs import Struct

_STEP: Final = re.compile(r"(\w+)(\[(\d*)\])?")


class Step(NamedTuple):
    """One name of a path.

    Attributes:
        attribute: in snake case.
        is_array: whether elements are meant.
        number: of one element; None for all of them.
    """

    attribute: str
    is_array: bool
    number: int | None


class Place(NamedTuple):
    """Where the value of a path is.

    Attributes:
        owner: the struct that has the field.
        attribute: of the field.
        number: within the field's list; None if the field itself is meant.
    """

    owner: Struct
    attribute: str
    number: int | None

    def get(self) -> object:
        """Return the value."""
        value: object = getattr(self.owner, self.attribute)
        return value if self.number is None or not isinstance(value, list) else value[self.number]

    def set(self, value: object) -> None:
        """Change the value."""
        if self.number is None:
            setattr(self.owner, self.attribute, value)
        else:
            getattr(self.owner, self.attribute)[self.number] = value


def parse_path(text: str) -> list[Step]:
    """Parse a path.

    Raises:
        ValueError: the text is no path; the error says so.
    """
    steps = []
    for part in text.split("."):
        found = _STEP.fullmatch(part)
        if found is None:
            raise ValueError(f"{text!r} is no path like 'topics[].partitions[0].error_code'")
        name, brackets, index = found.groups()
        steps.append(Step(snake_case(name), brackets is not None, int(index) if index else None))
    return steps


def field_of(steps: list[Step], name: str, structs: Mapping[str, tuple[Field, ...]]) -> Field | str:
    """Return the field at the end of a path, or in words why there is none.

    Args:
        steps: of the path.
        name: of the struct in which the path begins.
        structs: the fields of all structs of the message.
    """
    for position, step in enumerate(steps):
        fields = {field.attribute: field for field in structs[name]}
        field = fields.get(step.attribute)
        if field is None:
            return f"{name} has no field {step.attribute!r}"
        if step.is_array and not field.is_array:
            return f"{step.attribute!r} of {name} is no array"
        if position == len(steps) - 1:
            return field
        if not field.is_struct:
            return f"{step.attribute!r} of {name} has no fields"
        if field.is_array and not step.is_array:
            return f"{step.attribute!r} of {name} is an array: write {step.attribute}[]"
        name = field.element_type
    return "the path is empty"


def places(struct: Struct, steps: list[Step]) -> Iterator[Place]:
    """Yield each place that a path leads to; none where an element or a struct is not there.

    Of a part of a message, as the journal keeps it, some fields are not there either.
    """
    step, rest = steps[0], steps[1:]
    value = getattr(struct, step.attribute, None)
    if not step.is_array:
        if not rest:
            if step.attribute in struct.fields and hasattr(struct, step.attribute):
                yield Place(struct, step.attribute, None)
        elif isinstance(value, Struct):
            yield from places(value, rest)
        return
    elements = value if isinstance(value, list) else []
    for index in range(len(elements)) if step.number is None else [step.number]:
        if index >= len(elements):
            continue
        if not rest:
            yield Place(struct, step.attribute, index)
        elif isinstance(elements[index], Struct):
            yield from places(elements[index], rest)
