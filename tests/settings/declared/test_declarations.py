import re
from pathlib import Path

import pytest

import broker_lite
from broker_lite.settings import BROKER_SETTINGS, SETTINGS, TOPIC_SETTINGS, Scope, Setting

NO_EFFECT = "Has no effect"
BOUNDS_OF_GROUPS = ("group.consumer.min.", "group.consumer.max.")


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


def test_what_has_no_effect_says_so() -> None:
    """A setting is asked for by its attribute or its name, or is the default of one that is."""
    package = Path(broker_lite.__file__).parent
    words: set[str] = set()
    declared = set(package.glob("settings/*_settings.py"))
    for path in set(package.rglob("*.py")) - declared:
        text = path.read_text()
        words.update(re.findall(r"\w+", text), re.findall(r'"([\w.]+)"', text))
    used = {name for name, each in SETTINGS.items() if words & {name, each.attribute}}
    # settings/group_config.py puts the names of a group's bounds together
    used |= {name for name in SETTINGS if name.startswith(BOUNDS_OF_GROUPS)}
    used |= {synonym.name for name in used for synonym in SETTINGS[name].synonyms}
    silent = {name for name, each in SETTINGS.items() if not each.doc.startswith(NO_EFFECT)}
    assert silent - used == set()
