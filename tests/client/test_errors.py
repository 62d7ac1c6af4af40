import pytest

from broker_lite.client.errors import Refused, check, error_name
from broker_lite.errors import ClientError


@pytest.mark.parametrize(
    ("what", "message", "text"),
    [
        ("topic x", None, "topic x: UNKNOWN_TOPIC_OR_PARTITION"),
        ("topic x", "not here", "topic x: UNKNOWN_TOPIC_OR_PARTITION: not here"),
        ("", "not here", "UNKNOWN_TOPIC_OR_PARTITION: not here"),
    ],
)
def test_a_refusal_is_one_line(what: str, message: str | None, text: str) -> None:
    with pytest.raises(Refused) as raised:
        check(what, 3, message)
    assert str(raised.value) == text
    assert (raised.value.what, raised.value.code, raised.value.message) == (what, 3, message)
    assert isinstance(raised.value, ClientError)


def test_no_error_passes() -> None:
    check("topic x", 0)


def test_a_code_that_is_not_known_here() -> None:
    assert error_name(-1) == "UNKNOWN_SERVER_ERROR"
    assert error_name(9999) == "error 9999"
