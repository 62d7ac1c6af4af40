"""What tests of explanations share."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from broker_lite.explain import Explanation, Field, Limits, State, explain_batch
from broker_lite.log.validate.validated import ValidationConfig

EVERYTHING = Limits(fields_max=1_000_000, value_bytes_max=1_000_000)
NOW_MS = 1_700_000_100_000
FEW = Limits(fields_max=50, value_bytes_max=20)
PLAIN = ValidationConfig(topic="t", after_max_ms=2**63 - 1)
EDITS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=2)
CONFIGS = st.builds(
    ValidationConfig,
    topic=st.just("t"),
    max_message_bytes=st.sampled_from([90, 10**6]),
    codec=st.sampled_from([None, 0, 1, 2, 3, 4]),
    is_append_time=st.booleans(),
    before_max_ms=st.sampled_from([2**63 - 1, NOW_MS]),
    after_max_ms=st.sampled_from([2**63 - 1, 1000]),
    is_compacted=st.booleans(),
    decompressed_bytes_max=st.just(10**5),
)


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


def explained(data: bytes, config: ValidationConfig = PLAIN, **options: Any) -> Explanation:
    found = explain_batch(data, config, now_ms=NOW_MS, limits=EVERYTHING, **options)
    assert_all_whole(found, len(data))
    return found


def assert_bytes(fields: dict[str, Field], path: str, wanted: bytes | None) -> None:
    if wanted is None:
        assert fields[f"{path}_length"].note == "null"
        assert path not in fields
    else:
        assert fields[f"{path}_length"].value == len(wanted)
        assert content(fields[path]) == wanted
