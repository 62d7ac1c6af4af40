"""Elements of an array of an answer that have the names of what a request named."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from broker_lite.handler.error_places import Level
from broker_lite.wire.codegen import Layout
from broker_lite.wire.schema import Field
from broker_lite.wire.structs import Struct

Key: TypeAlias = tuple[object, ...]
"""The values that name an element."""


ArrayMaker: TypeAlias = Callable[[int, Iterable[Struct]], list[Struct]]
"""Makes an array from the number of its elements, and an iterable of them."""


def key_of(element: object, attributes: tuple[str, ...]) -> Key:
    """Return the values that name an element, which is a struct or the name itself."""
    if not isinstance(element, Struct):
        return (element,)
    return tuple(getattr(element, name, b"") for name in attributes)


def fields_of(layout: Layout, struct: str, values: Mapping[str, object]) -> dict[str, object]:
    """Return those values of a struct's fields that its version can have."""
    return {
        field.attribute: values[field.attribute]
        for field in layout.plain_fields(struct)
        if field.attribute in values
        and (values[field.attribute] is not None or layout.is_nullable(field))
    }


class ElementMaker:
    """Makes the elements of one array of an answer, in one version.

    Attributes:
        struct: what the schema calls such an element.
    """

    def __init__(
        self, layout: Layout, owner: str, level: Level, make_array: ArrayMaker | None = None
    ) -> None:
        """Look up what an element's names are called.

        Args:
            layout: of the answer.
            owner: the struct that has the array.
            level: of the table of places.
            make_array: where a name is an array; a list if it is None.
        """
        self._layout = layout
        self._make_array = make_array or _all_at_once
        array = next(each for each in layout.attributes[owner] if each.attribute == level.response)
        self.struct = array.element_type
        fields = {each.attribute: each for each in layout.attributes[self.struct]}
        self._names = [
            (position, fields[name])
            for position, name in enumerate(level.response_keys)
            if layout.has_field(self.struct, name)
        ]

    def make(self, key: Key, more: Mapping[str, object] | None = None) -> Struct:
        """Make an element.

        Args:
            key: the values that name it in the request.
            more: other fields; the version has to have them.
        """
        names = {
            field.attribute: self._name(field, key[position])
            for position, field in self._names
            if position < len(key) and not (key[position] == b"" and field.element_type == "uuid")
        }
        return self._layout.classes[self.struct](**names, **(more or {}))

    def _name(self, field: Field, value: object) -> object:
        """Return a name as the answer has it."""
        if value is None and not self._layout.is_nullable(field):
            return ""
        if field.is_struct and isinstance(value, list):
            kind = self._layout.classes[field.element_type]
            made = (kind(**{each: getattr(one, each) for each in one.fields}) for one in value)
            return self._make_array(len(value), made)
        return value


def _all_at_once(_: int, elements: Iterable[Struct]) -> list[Struct]:
    return [*elements]
