import pytest

from broker_lite.errors import SettingsError
from broker_lite.security.one_word.child import made_by_child


def test_what_the_child_makes_comes_back() -> None:
    asked = {"fault": "self_signed", "names": ["localhost"], "ca": "", "ca_key": ""}
    made = made_by_child(asked, "x")
    assert list(made) == ["server"]
    assert made["server"].startswith("-----BEGIN PRIVATE KEY-----")


def test_an_error_is_one_line_that_begins_with_the_name() -> None:
    with pytest.raises(SettingsError, match=r"^the name: what was kept of its CA is damaged$"):
        made_by_child({"fault": "expired", "names": [], "ca": "x", "ca_key": "y"}, "the name")
