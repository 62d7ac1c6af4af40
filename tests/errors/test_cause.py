"""What an error came from."""

import pytest

from broker_lite.errors import KafkaStorageError, cause_of

FULL = OSError(28, "No space left on device")


def test_what_a_raise_names() -> None:
    with pytest.raises(KafkaStorageError) as raised:
        raise KafkaStorageError from FULL
    assert cause_of(raised.value) is FULL


def test_what_was_being_handled() -> None:
    error = KafkaStorageError()
    error.__context__ = FULL
    assert cause_of(error) is FULL


def test_without_either_it_is_the_error_itself() -> None:
    error = KafkaStorageError("offline")
    assert cause_of(error) is error
