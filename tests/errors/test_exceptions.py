"""E-01: an error carries the code that its name says.

Also tests: broker_lite.errors.rights, broker_lite.errors.share_exceptions,
broker_lite.errors.streams_exceptions.
"""

import re

import pytest

from broker_lite import errors
from broker_lite.errors import BrokerError, exceptions, rights, share_exceptions, streams_exceptions

SUBCLASSES = [
    error
    for module in (exceptions, rights, share_exceptions, streams_exceptions)
    for error in BrokerError.__subclasses__()
    if error.__module__ == module.__name__
]


@pytest.mark.parametrize("error", SUBCLASSES, ids=lambda error: error.__name__)
def test_e02_an_error_has_the_name_and_code_that_it_says(error: type[BrokerError]) -> None:
    name = re.sub(r"(?<!^)([A-Z])", r"_\1", error.__name__).upper()
    assert error.code.name.removesuffix("_EXCEPTION") == name
    assert f"({error.code.value})" in (error.__doc__ or "")
    assert getattr(errors, error.__name__) is error


def test_every_code_has_one_error() -> None:
    codes = [error.code for error in SUBCLASSES]
    assert len(codes) == len(set(codes))
    for module in (exceptions, rights):
        own = [error.code for error in SUBCLASSES if error.__module__ == module.__name__]
        assert own == sorted(own)


def test_message() -> None:
    assert errors.InvalidRecord("why").message == "why"
    assert errors.InvalidRecord().message is None


@pytest.mark.parametrize("character", ["x", "é", "字", "\U0001f600"])
def test_p_23_a_text_that_is_too_long_for_the_wire_is_cut(character: str) -> None:
    count = 32_767 // len(character.encode())
    whole = character * count
    assert errors.InvalidTopic(whole).message == whole
    cut = errors.InvalidTopic(whole + character).message
    assert cut is not None
    assert 32_760 < len(cut.encode()) <= 32_767
    assert cut == character * (len(cut) - 3) + "..."
