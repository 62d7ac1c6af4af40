"""Which settings of a broker that runs can be changed, and to what."""

from collections.abc import Mapping

from broker_lite.errors import InvalidRequest
from broker_lite.settings.declarations import BROKER_SETTINGS
from broker_lite.settings.setting import InvalidValue
from broker_lite.settings.settings import Settings


def with_dynamic_broker_configs(
    settings: Settings,
    dynamic: Mapping[str, str],
    dynamic_default: Mapping[str, str],
) -> Settings:
    """The settings as they are after a change of the dynamic ones.

    Args:
        settings: those in force.
        dynamic: all of this broker's own after the change.
        dynamic_default: all of the cluster's after the change.

    Raises:
        InvalidRequest: a setting that only a new start changes, or a bad value; Kafka's text.

    Rule: P-127, P-131 (DynamicBrokerConfig.validate).
    """
    changed = {
        name: text
        for new, old in ((dynamic, settings.dynamic), (dynamic_default, settings.dynamic_default))
        for name, text in new.items()
        if old.get(name) != text
    }
    fixed = [
        name
        for name in changed
        if (setting := BROKER_SETTINGS.get(name)) is not None and not setting.dynamic
    ]
    if fixed:
        raise InvalidRequest(f"Cannot update these configs dynamically: [{', '.join(fixed)}]")
    try:
        return settings.with_dynamic(dynamic, dynamic_default)
    except InvalidValue as error:
        raise InvalidRequest(str(error)) from error
