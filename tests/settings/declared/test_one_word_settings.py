from broker_lite.settings.declared.one_word_settings import ONE_WORD_SETTINGS
from tests.settings.golden import assert_as_kafka


def test_kafka_has_none_of_these() -> None:
    assert_as_kafka(ONE_WORD_SETTINGS, "broker")
    assert all(setting.own for setting in ONE_WORD_SETTINGS)


def test_passwords_of_users_are_secret() -> None:
    assert [one.name for one in ONE_WORD_SETTINGS if one.is_sensitive] == [
        "broker.lite.security.users"
    ]
