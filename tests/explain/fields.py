"""What tests of explanations share."""

from collections.abc import Sequence

from broker_lite.explain import Explanation, Field, Limits, State

EVERYTHING = Limits(fields_max=1_000_000, value_bytes_max=1_000_000)
NOW_MS = 1_700_000_100_000


def content(field: Field) -> bytes:
    """The bytes that a field shows."""
    assert isinstance(field.value, str)
    assert field.left_out == 0
    return bytes.fromhex(field.value) if field.form == "hex" else field.value.encode()


def assert_whole(fields: Sequence[Field], size: int, start: int = 0) -> None:
    """Every byte belongs to one field."""
    position = start
    for each in fields:
        assert each.offset == position, each
        assert each.size >= 0
        position += each.size
    assert position == start + size


def assert_all_whole(explanation: Explanation, size: int, start: int = 0) -> None:
    """The same for the parts, too."""
    assert_whole(explanation.fields, size, start)
    for part in explanation.parts:
        assert_whole(part.fields, part.size)


def by_path(fields: Sequence[Field]) -> dict[str, Field]:
    """The fields by their paths, which are different."""
    found = {each.path: each for each in fields}
    assert len(found) == len(fields)
    return found


def marked(explanation: Explanation, state: State = State.REFUSED) -> list[str]:
    """The paths of the fields in a state."""
    every = [*explanation.fields, *(each for part in explanation.parts for each in part.fields)]
    return [each.path for each in every if each.state is state]
