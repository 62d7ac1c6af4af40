"""Texts that fit into records and responses."""

from broker_lite.coordinator.texts import cut, is_too_long


def test_texts_that_fit_no_record() -> None:
    assert not is_too_long("x" * 32_767)
    assert is_too_long("x" * 32_768)
    assert is_too_long("\ufffd" * 10_923)
    assert not is_too_long("\ufffd" * 10_922)


def test_messages_fit_into_a_response() -> None:
    assert cut(None) is None
    assert cut("short") == "short"
    assert not is_too_long(cut("\ufffd" * 20_000) or "")
