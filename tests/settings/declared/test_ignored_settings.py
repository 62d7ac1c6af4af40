"""Settings of Kafka that have no effect: what is declared of them."""

import pytest

from broker_lite.settings import SETTINGS, ConfigType
from broker_lite.settings.declared.ignored_settings import IGNORED_SETTINGS
from broker_lite.settings.values import Between

BY_NAME = {setting.name: setting for setting in IGNORED_SETTINGS}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_default_is_allowed(name: str) -> None:
    setting = BY_NAME[name]
    assert SETTINGS[name] is setting
    assert setting.ignored
    if setting.default is not None:
        setting.parse(setting.default)


def test_what_a_row_says() -> None:
    limit = BY_NAME["share.coordinator.cached.buffer.max.bytes"]
    assert (limit.kind, limit.default) == (ConfigType.INT, "1048588")
    assert limit.validator == Between(524_288)
    assert limit.dynamic
    assert BY_NAME["replication.quota.window.num"].validator == Between(1)
    assert BY_NAME["config.providers"].default == ""
    assert BY_NAME["ssl.provider"].default is None
    builder = BY_NAME["principal.builder.class"]
    assert (builder.default or "").endswith(".authenticator.DefaultKafkaPrincipalBuilder")
    assert (builder.dynamic, builder.per_broker, builder.per_listener) == (True, True, False)
    assert BY_NAME["leader.replication.throttled.rate"].internal
