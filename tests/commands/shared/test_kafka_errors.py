"""Error codes as Kafka's tools print them."""

from broker_lite.commands.shared.kafka_errors import exception_line, exception_name, exception_text
from broker_lite.errors import ErrorCode

PACKAGE = "org.apache.kafka.common.errors"


def test_names() -> None:
    assert exception_name(ErrorCode.NOT_CONTROLLER) == f"{PACKAGE}.NotControllerException"
    assert exception_name(ErrorCode.INVALID_TOPIC_EXCEPTION) == f"{PACKAGE}.InvalidTopicException"
    assert exception_name(ErrorCode.REQUEST_TIMED_OUT) == f"{PACKAGE}.TimeoutException"


def test_texts() -> None:
    assert exception_text(ErrorCode.NON_EMPTY_GROUP) == "The group is not empty."
    assert exception_text(ErrorCode.NON_EMPTY_GROUP, "no") == "no"
    assert exception_text(9999) == "error 9999"


def test_a_line_has_both() -> None:
    line = exception_line(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")
    assert line == (
        f"{PACKAGE}.SecurityDisabledException: No Authorizer is configured on the broker"
    )
