import pytest

from broker_lite.settings import BROKER_SETTINGS, SETTINGS, TOPIC_SETTINGS, Scope, Setting


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=lambda setting: setting.name)
def test_declaration(setting: Setting) -> None:
    if setting.default is not None:
        assert setting.parse(setting.default) == setting.default_value()
    assert setting.doc.endswith(".")
    assert SETTINGS[setting.name] is setting
    for synonym in setting.synonyms:
        assert synonym.name in BROKER_SETTINGS


def test_attributes_differ() -> None:
    assert len({setting.attribute for setting in SETTINGS.values()}) == len(SETTINGS)


def test_scopes() -> None:
    assert set(SETTINGS) == set(BROKER_SETTINGS) | set(TOPIC_SETTINGS)
    for name in set(BROKER_SETTINGS) & set(TOPIC_SETTINGS):
        assert SETTINGS[name].scope is Scope.BOTH
        assert SETTINGS[name].synonyms[0].name == name
