import pytest

from broker_lite.errors import InvalidTopic
from broker_lite.handler.codec import code_and_message, decode, encode
from broker_lite.handler.context import Request
from broker_lite.wire import DecodeError, messages


def request(body: bytes) -> Request:
    return Request(20, 1, 1, None, memoryview(bytearray(b"head" + body)), 4, False)


def test_p09_bytes_after_the_body_are_left_alone() -> None:
    body = messages.DeleteTopicsRequest(topic_names=["t"], timeout_ms=1)
    data = messages.DeleteTopicsRequest.encode(body, 1)
    assert decode(messages.DeleteTopicsRequest, request(data + b"more")) == body


def test_p08_a_body_that_ends_too_early() -> None:
    with pytest.raises(DecodeError):
        decode(messages.DeleteTopicsRequest, request(b"\x00"))


def test_a_response_is_encoded_in_the_version_of_the_request() -> None:
    response = messages.DeleteTopicsResponse()
    assert encode(messages.DeleteTopicsResponse, response, request(b"")) == [bytes(8)]


def test_errors_as_fields() -> None:
    assert code_and_message(None) == {"error_code": 0, "error_message": None}
    assert code_and_message(InvalidTopic()) == {"error_code": 17, "error_message": None}
    assert code_and_message(InvalidTopic("no")) == {"error_code": 17, "error_message": "no"}
