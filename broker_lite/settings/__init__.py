"""The settings of brokers, topics and groups: each is declared once, all else follows from that.

Input: files, environment variables, flags, and values that clients set. Output: Settings (of the
broker), TopicConfig (of a topic), Listener objects, the entries of DescribeConfigs, and the table
for people. The room opens no socket, starts nothing and keeps no state.
"""

from broker_lite.settings.configs.dynamic import with_dynamic_broker_configs
from broker_lite.settings.configs.topic_config import (
    TopicConfig,
    is_list,
    topic_config,
    validate_topic_config,
    validate_topic_configs,
)
from broker_lite.settings.declared.declarations import (
    BROKER_SETTINGS,
    SETTINGS,
    TOPIC_SETTINGS,
    find_broker_setting,
)
from broker_lite.settings.declared.network_settings import DEFAULT_RELEASE, DESCRIBED, RELEASES
from broker_lite.settings.listeners import (
    Listener,
    join_address,
    parse_listeners,
    with_first_address,
)
from broker_lite.settings.setting import ConfigSource, ConfigType, InvalidValue, Scope, Setting
from broker_lite.settings.settings import Given, Settings
from broker_lite.settings.sources.load import load_settings, parse_assignment, with_flag

__all__ = [
    "BROKER_SETTINGS",
    "DEFAULT_RELEASE",
    "DESCRIBED",
    "RELEASES",
    "SETTINGS",
    "TOPIC_SETTINGS",
    "ConfigSource",
    "ConfigType",
    "Given",
    "InvalidValue",
    "Listener",
    "Scope",
    "Setting",
    "Settings",
    "TopicConfig",
    "find_broker_setting",
    "is_list",
    "join_address",
    "load_settings",
    "parse_assignment",
    "parse_listeners",
    "topic_config",
    "validate_topic_config",
    "validate_topic_configs",
    "with_dynamic_broker_configs",
    "with_first_address",
    "with_flag",
]
