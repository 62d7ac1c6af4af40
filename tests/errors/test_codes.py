from kio.schema.errors import ErrorCode as KioErrorCode

from broker_lite.errors import ErrorCode


def test_e_01_codes_are_those_of_another_implementation() -> None:
    theirs = {code.name.upper(): code.value for code in KioErrorCode}
    assert {code.name: code.value for code in ErrorCode} == theirs
