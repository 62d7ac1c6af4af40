"""Settings of Kafka that have no effect here: security, remote storage.

They are declared so that DescribeConfigs and AlterConfigs answer about them as Kafka does. To set
one at the start causes a warning in a properties file or a variable, and an error in a TOML file or
a flag.

Source: the ConfigDef of KafkaConfig and the dynamic configs of Kafka 4.3.1; the module
tests.differential.compare_configs checks that they are the same.
"""

from typing import Final

from broker_lite.settings.setting import ConfigType, Setting
from broker_lite.settings.values import Between, OneOf, Validator

# Columns: name, type, default (- for null), what is allowed (bounds or words, - for all), and for
# whom a running broker accepts a change: for nobody (fixed), for all brokers or one (cluster), for
# one broker only (broker), for one of its listeners only (listener). A setting that is marked as
# hidden is described only if it is set.
_ROWS: Final = """\
alter.config.policy.class.name class - - fixed
alter.log.dirs.replication.quota.window.num int 11 1.. fixed
alter.log.dirs.replication.quota.window.size.seconds int 1 1.. fixed
client.quota.callback.class class - - fixed
config.providers list "" - cluster
controller.quorum.append.linger.ms int 25 0.. fixed
controller.quorum.auto.join.enable boolean false - fixed
controller.quorum.fetch.max.bytes int 1048576 1.. fixed
controller.quorum.fetch.snapshot.max.bytes int 1048576 1.. fixed
cordoned.log.dirs list "" - broker
create.topic.policy.class.name class - - fixed
early.start.listeners list - - fixed
follower.fetch.last.tiered.offset.enable boolean false - cluster
follower.replication.throttled.rate long - 0.. cluster hidden
initial.broker.registration.timeout.ms int 60000 - fixed
kafka.metrics.polling.interval.secs int 10 1.. fixed
kafka.metrics.reporters list "" - fixed
leader.replication.throttled.rate long - 0.. cluster hidden
metadata.log.max.record.bytes.between.snapshots long 20971520 1.. fixed
metadata.log.max.snapshot.interval.ms long 3600000 0.. fixed
metadata.max.idle.interval.ms int 500 0.. fixed
metadata.max.retention.bytes long 104857600 - fixed
metadata.max.retention.ms long 604800000 - fixed
principal.builder.class class @DefaultKafkaPrincipalBuilder - broker
remote.fetch.max.wait.ms int 500 1.. cluster
remote.list.offsets.request.timeout.ms long 30000 1.. cluster
remote.log.index.file.cache.total.size.bytes long 1073741824 1.. cluster
remote.log.manager.copier.thread.pool.size int 10 1.. cluster
remote.log.manager.copy.max.bytes.per.second long 9223372036854775807 1.. cluster
remote.log.manager.copy.quota.window.num int 11 1.. fixed
remote.log.manager.copy.quota.window.size.seconds int 1 1.. fixed
remote.log.manager.expiration.thread.pool.size int 10 1.. cluster
remote.log.manager.fetch.max.bytes.per.second long 9223372036854775807 1.. cluster
remote.log.manager.fetch.quota.window.num int 11 1.. fixed
remote.log.manager.fetch.quota.window.size.seconds int 1 1.. fixed
remote.log.manager.follower.thread.pool.size int 2 1.. cluster
remote.log.manager.task.interval.ms long 30000 1.. fixed
remote.log.manager.thread.pool.size int 2 1.. fixed
remote.log.metadata.custom.metadata.max.bytes int 128 0.. fixed
remote.log.metadata.manager.class.name string @TopicBasedRemoteLogMetadataManager - fixed
remote.log.metadata.manager.class.path string - - fixed
remote.log.metadata.manager.impl.prefix string rlmm.config. - fixed
remote.log.metadata.manager.listener.name string - - fixed
remote.log.reader.max.pending.tasks int 100 1.. fixed
remote.log.reader.threads int 10 1.. cluster
remote.log.storage.manager.class.name string - - fixed
remote.log.storage.manager.class.path string - - fixed
remote.log.storage.manager.impl.prefix string rsm.config. - fixed
remote.log.storage.system.enable boolean false - fixed
replica.alter.log.dirs.io.max.bytes.per.second long - 0.. cluster hidden
replication.quota.window.num int 11 1.. fixed
replication.quota.window.size.seconds int 1 1.. fixed
sasl.kerberos.kinit.cmd string /usr/bin/kinit - broker
sasl.kerberos.min.time.before.relogin long 60000 - broker
sasl.kerberos.principal.to.local.rules list DEFAULT - broker
sasl.kerberos.service.name string - - broker
sasl.kerberos.ticket.renew.jitter double 0.05 - broker
sasl.kerberos.ticket.renew.window.factor double 0.8 - broker
sasl.login.refresh.buffer.seconds short 300 - broker
sasl.login.refresh.min.period.seconds short 60 - broker
sasl.login.refresh.window.factor double 0.8 - broker
sasl.login.refresh.window.jitter double 0.05 - broker
sasl.oauthbearer.jwt.retriever.class class @DefaultJwtRetriever - fixed
sasl.oauthbearer.jwt.validator.class class @DefaultJwtValidator - fixed
security.providers string - - fixed
share.coordinator.append.linger.ms int -1 -1.. fixed
share.coordinator.cached.buffer.max.bytes int 1048588 524288.. cluster
share.coordinator.load.buffer.size int 5242880 1.. fixed
share.coordinator.state.topic.compression.codec int 0 - fixed
share.coordinator.threads int 1 1.. fixed
share.fetch.purgatory.purge.interval.requests int 1000 - fixed
ssl.engine.factory.class class - - cluster
ssl.keymanager.algorithm string SunX509 - broker
ssl.provider string - - broker
ssl.secure.random.implementation string - - broker
ssl.trustmanager.algorithm string PKIX - broker
"""
# Java classes whose full names would make the rows above too long.
_PACKAGES: Final = {
    "@DefaultKafkaPrincipalBuilder": "org.apache.kafka.common.security.authenticator",
    "@DefaultJwtRetriever": "org.apache.kafka.common.security.oauthbearer",
    "@DefaultJwtValidator": "org.apache.kafka.common.security.oauthbearer",
    "@TopicBasedRemoteLogMetadataManager": "org.apache.kafka.server.log.remote.metadata.storage",
}
_EMPTY: Final = '""'
_NULL: Final = "-"
_FIXED, _BROKER, _LISTENER = "fixed", "broker", "listener"
_DOC: Final = "Has no effect; accepted for compatibility with Kafka."


def _setting(line: str) -> Setting:
    name, kind, default, allowed, update, *hidden = line.split(" ")
    return Setting(
        name,
        ConfigType[kind.upper()],
        _default(default),
        _DOC,
        _validator(allowed),
        dynamic=update != _FIXED,
        per_broker=update == _BROKER,
        per_listener=update == _LISTENER,
        ignored=True,
        internal=bool(hidden),
    )


def _default(text: str) -> str | None:
    if text in (_NULL, _EMPTY):
        return None if text == _NULL else ""
    package = _PACKAGES.get(text)
    return text if package is None else f"{package}.{text.removeprefix('@')}"


def _validator(allowed: str) -> Validator | None:
    if allowed == _NULL:
        return None
    low, is_range, high = allowed.partition("..")
    if is_range:
        return Between(int(low), int(high) if high else None)
    return OneOf(tuple(allowed.split("|")))


IGNORED_SETTINGS: Final = tuple(map(_setting, _ROWS.splitlines()))
