"""Old messages and wrappers: their fields, and what the validator refuses in them."""

import gzip
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.errors import BrokerError
from broker_lite.explain import State, explain_batch
from broker_lite.handler.produce.check import check_record_set, is_transactional
from broker_lite.log.validate.old_messages import (
    NothingToAppend,
    check_old_record_set,
    validate_old_records,
)
from broker_lite.log.validate.produced_batch import validate_records
from broker_lite.log.validate.validated import ValidationConfig
from broker_lite.record.codecs.compression import compress
from broker_lite.record.legacy.message_builder import LegacySetBuilder, encode_message
from broker_lite.record.legacy.messages import LegacyMessage, iterate_legacy
from tests.explain.fields import (
    CONFIGS,
    EDITS,
    FEW,
    NOW_MS,
    PLAIN,
    assert_bytes,
    by_path,
    explained,
    marked,
)
from tests.log.batches import BASE_TIMESTAMP
from tests.record.support import vectors


@pytest.mark.parametrize("vector", [each for each in vectors("legacy.json") if "hex" in each])
def test_old_vectors_of_java_r60_r65(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    found = explained(data, stored=True)
    assert found.refused is None
    assert marked(found, State.UNREADABLE) == []


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1, 2, 3])
def test_old_messages_are_listed(magic: int, codec: int) -> None:
    builder = LegacySetBuilder(magic, codec=codec)
    for index in range(3):
        builder.append(index, BASE_TIMESTAMP + index, None if index else b"key", b"value")
    data = bytes(builder.build())
    found = explained(data)
    assert found.refused is None
    fields = by_path(found.parts[0].fields if codec else found.fields)
    prefix = "messages[0].messages" if codec else "messages"
    for index in range(3):
        assert_bytes(fields, f"{prefix}[{index}].key", None if index else b"key")
        assert_bytes(fields, f"{prefix}[{index}].value", b"value")
    if codec:
        wrapper = LegacyMessage(memoryview(data), 0, len(data))
        assert len(list(iterate_legacy(wrapper))) == 3


@st.composite
def old_sets(draw: st.DrawFn) -> bytes:
    """A plain set or a wrapper, with some bytes changed within messages, and right checksums."""
    magic, codec = draw(st.sampled_from([0, 1])), draw(st.sampled_from([0, 1, 2, 3]))
    inner = []
    for index in range(draw(st.integers(1, 3))):
        message = bytearray(encode_message(index, magic, 0, BASE_TIMESTAMP, b"k", b"v"))
        for position, value in draw(EDITS)[:1] if draw(st.booleans()) else []:
            message[position % len(message)] = value
            if draw(st.booleans()):
                message[12:16] = zlib.crc32(message[16:]).to_bytes(4, "big")
        inner.append(bytes(message))
    if codec == 0:
        return b"".join(inner)
    value = bytes(compress(codec, b"".join(inner)))
    if draw(st.booleans()):
        value = value[: draw(st.integers(0, len(value)))]
    return encode_message(2, magic, codec, BASE_TIMESTAMP, None, value)


def old_rule(data: bytes, config: ValidationConfig) -> str | None:
    view = memoryview(bytearray(data))
    try:
        is_transactional([("t", None, [(0, view)])])
    except BrokerError:
        return "V-06"
    try:
        if view[16] == 2:
            check_record_set(view, 13)
            validate_records(view, config, now_ms=NOW_MS)
        else:
            list(check_old_record_set(view))
            validate_old_records(view, config, now_ms=NOW_MS)
    except NothingToAppend:
        return None
    except BrokerError as error:
        return error.why.rule if error.why is not None else "V-13"
    return None


@settings(max_examples=300, deadline=None)
@given(data=old_sets(), config=st.one_of(st.just(PLAIN), CONFIGS))
def test_the_validator_decides_about_old_sets(data: bytes, config: ValidationConfig) -> None:
    found = explained(data, config)
    refused = found.refused
    assert (None if refused is None else refused.rule) == old_rule(data, config)
    if refused is not None:
        assert marked(found) == ([] if refused.path is None else [refused.path])
    stored = explained(data, stored=True)
    assert all(each.rule in ("R-03", "R-06", "R-37", "R-68") for each in stored.refusals)


def test_a_wrong_message_inside_a_wrapper_is_marked_r68() -> None:
    good = encode_message(0, 1, 0, BASE_TIMESTAMP, b"k", b"v")
    for inner, path in (
        (good + good[:12] + bytes(4) + good[16:], "messages[1].crc"),
        (encode_message(0, 1, 1, BASE_TIMESTAMP, b"k", b"v"), "messages[0].attributes"),
        (good[:8] + (3).to_bytes(4, "big") + good[12:], "messages[0].length"),
        (good[:35] + b"\x09" + good[36:], "messages[0].crc"),
    ):
        data = encode_message(1, 1, 1, BASE_TIMESTAMP, None, gzip.compress(inner))
        refused = explained(data).refused
        assert refused is not None
        assert refused.path == f"messages[0].{path}"


def test_wrappers_that_are_not_opened() -> None:
    for codec, value in ((1, None), (1, b""), (6, b"abc"), (4, b"abc"), (1, b"abc")):
        data = encode_message(1, 1, codec, BASE_TIMESTAMP, None, value)
        assert explained(data).refused is not None
        assert explained(data, stored=True).refused is not None


def test_the_list_of_a_wrapper_is_bounded() -> None:
    builder = LegacySetBuilder(1, codec=1)
    for index in range(100):
        builder.append(index, BASE_TIMESTAMP, b"k", b"v")
    found = explain_batch(bytes(builder.build()), PLAIN, now_ms=NOW_MS, limits=FEW)
    assert len(found.parts[0].fields) <= 50
    assert marked(found, State.NOT_LISTED) == ["messages[0].rest"]
