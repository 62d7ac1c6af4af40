import pytest

from broker_lite.pipeline.registry.settings import (
    USER_INFO_VARIABLE,
    RegistrySettings,
    checked_location,
    user_info,
)


def test_a_password_is_not_shown() -> None:
    settings = RegistrySettings(location="http://registry", user_info="me:secret")
    assert "secret" not in repr(settings)
    assert settings.is_url
    assert not RegistrySettings(location="schemas").is_url


def test_who_asks() -> None:
    there = {USER_INFO_VARIABLE: "a:b"}
    assert user_info(None, there) == "a:b"
    assert user_info("c:d", there) == "c:d"
    assert user_info("", there) == ""
    assert user_info(None, {}) == ""


@pytest.mark.parametrize("given", [None, "secret"])
def test_no_user(given: str | None) -> None:
    with pytest.raises(ValueError, match="there is no colon") as caught:
        user_info(given, {USER_INFO_VARIABLE: "secret"})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["http://localhost:8081", "HTTPS://registry/path", "schemas", "file:///schemas"]
)
def test_where_schemas_may_be(text: str) -> None:
    assert checked_location(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is needed"),
        ("http://", "no URL"),
        ("http://h:port", "no URL"),
        ("http://[::1", "no URL"),
        ("http://me:secret@h", "apart from the URL"),
        ("ftp://h", "http, https and folders are allowed"),
    ],
)
def test_where_they_may_not_be(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        checked_location(text)
