"""The action `rewrite`: fields of an answer get other values, checked against the schema."""

from collections.abc import Iterable, Mapping
from typing import Final

from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.faults.answers import Answer
from broker_lite.testbench.faults.problems import CannotApply
from broker_lite.testbench.paths import Step, field_of, parse_path, places
from broker_lite.testbench.selectors import topic_id_of
from broker_lite.wire import messages
from broker_lite.wire.schema import Field, catalog_by_api

CORRELATION_ID: Final = "correlation_id"
"""The one field of the header that can be rewritten."""

_BITS: Final[Mapping[str, tuple[int, int]]] = {
    f"{sign}int{bits}": (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for bits in (8, 16, 32, 64)
    for sign in ("", "u")
}


def check_rewrite(path: str, value: object, keys: Iterable[int] | None, at: str) -> None:
    """Check a field and its value.

    Args:
        path: of the field.
        value: of JSON.
        keys: the APIs whose answers may be meant; None for all.
        at: the place in what a caller sent.

    Raises:
        ControlError: no answer of these APIs has such a field, or the value does not fit.
    """
    try:
        steps = parse_path(path)
    except ValueError as error:
        raise ControlError(400, str(error), at) from None
    problem = "there is no such field"
    for key in catalog_by_api("protocol", "response") if keys is None else keys:
        _, kind = messages.by_api(key)
        field = field_of(steps, kind.name, kind.structs)
        if isinstance(field, str):
            problem = field
            continue
        try:
            value_of(field, value, is_element=steps[-1].is_array)
        except ValueError as error:
            problem = str(error)
            continue
        return
    raise ControlError(400, problem, at)


def value_of(field: Field, value: object, *, is_element: bool) -> object:
    """Return a value of JSON as the codec takes it.

    Args:
        field: of which it is the value.
        value: of JSON.
        is_element: whether it is one element of the field's array.

    Raises:
        ValueError: it does not fit; the error says what would.
    """
    if value is None:
        if not field.nullable or is_element:
            raise ValueError(f"{field.attribute} cannot be null")
        return None
    if field.is_array and not is_element:
        if not isinstance(value, list):
            raise ValueError(f"{field.attribute} is an array; write {field.attribute}[] for each")
        return [_single(field, each) for each in value]
    return _single(field, value)


def _single(field: Field, value: object) -> object:
    if field.is_struct:
        raise ValueError(f"{field.attribute} is a struct: name one of its fields")
    if field.element_type in _BITS or field.element_type in ("bool", "float64"):
        return _number(field, value)
    if not isinstance(value, str):
        raise ValueError(f"{field.attribute} is a text, not {value!r}")
    if field.element_type == "uuid":
        try:
            return topic_id_of(value, field.attribute)
        except ControlError as error:
            raise ValueError(error.text) from None
    return value if field.element_type == "string" else value.encode()


def _number(field: Field, value: object) -> object:
    kind = field.element_type
    if kind == "bool":
        if not isinstance(value, bool):
            raise ValueError(f"{field.attribute} is true or false, not {value!r}")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{field.attribute} is a number, not {value!r}")
    if kind == "float64":
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"{field.attribute} is a number of 64 bits") from None
    low, high = _BITS[kind]
    if not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{field.attribute} is a number from {low} to {high}, not {value!r}")
    return value


def rewrite(answer: Answer, fields: Mapping[str, object]) -> None:
    """Change fields of an answer.

    Raises:
        CannotApply: the answer has nothing at one of the paths.
    """
    for path, value in fields.items():
        steps = parse_path(path)
        field = field_of(steps, answer.kind.name, answer.kind.structs)
        if isinstance(field, str):
            raise CannotApply(field)
        if not _is_sent(answer, steps):
            raise CannotApply(f"version {answer.layout.version} of the answer has no {path}")
        try:
            new = value_of(field, value, is_element=steps[-1].is_array)
        except ValueError as error:
            raise CannotApply(str(error)) from None
        found = list(places(answer.body, steps))
        if not found:
            raise CannotApply(f"the answer has nothing at {path}")
        for place in found:
            place.set(new)


def _is_sent(answer: Answer, steps: list[Step]) -> bool:
    """True if this version of the answer has all fields of a path."""
    name = answer.kind.name
    for step in steps:
        if not answer.layout.has_field(name, step.attribute):
            return False
        fields = {field.attribute: field for field in answer.kind.structs[name]}
        name = fields[step.attribute].element_type
    return True
