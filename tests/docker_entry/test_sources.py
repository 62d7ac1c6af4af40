from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from broker_lite.docker_entry.sources import Sources, read_sources
from broker_lite.errors import SettingsError
from broker_lite.settings import Settings, load_settings, parse_listeners


def sources(
    environment: Mapping[str, str] | None = None,
    *,
    files: Collection[str] = (),
    mounts: Collection[str] = (),
) -> Sources:
    return read_sources(environment or {}, exists=files.__contains__, is_mount=mounts.__contains__)


def settings_of(found: Sources) -> Settings:
    return load_settings(None, found.environment, surroundings=found.surroundings, warnings=[])


def test_with_nothing_given_the_image_decides() -> None:
    found = sources()
    settings = settings_of(found)
    (listener,) = parse_listeners(settings)
    assert (listener.host, listener.port) == ("", 9092)
    assert settings.log_dirs == ("/data",)
    assert settings.broker_lite_gateway_advertised == "localhost"
    assert settings.broker_lite_cluster_id is None
    assert settings.origin_of("log.dirs") == "the image"
    assert (found.config_file, found.warnings) == (None, ())


@pytest.mark.parametrize("mount", ["/var/lib/kafka/data", "/bitnami/kafka"])
def test_the_data_goes_where_people_of_other_images_have_their_volume(mount: str) -> None:
    assert settings_of(sources(mounts={mount, "/other"})).log_dirs == (mount,)


def test_a_variable_is_stronger_than_a_volume() -> None:
    found = sources({"KAFKA_LOG_DIRS": "/a"}, mounts={"/var/lib/kafka/data"})
    assert settings_of(found).log_dirs == ("/a",)


def test_one_directory_of_several_is_taken_and_told() -> None:
    found = sources({"KAFKA_LOG_DIRS": "/a, /b"})
    assert settings_of(found).log_dirs == ("/a",)
    told = "KAFKA_LOG_DIRS: broker-lite keeps its data in one directory, /a"
    assert found.warnings == (told,)


@pytest.mark.parametrize(
    "file",
    ["/mnt/shared/config/server.properties", "/bitnami/kafka/config/server.properties"],
)
def test_a_mounted_file_is_read(file: str) -> None:
    assert sources(files={file, "/other"}).config_file == Path(file)


def test_listeners_follow_from_what_is_advertised() -> None:
    found = sources(
        {
            "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://broker:29092,HOST://[::1]:9092,",
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "PLAINTEXT:PLAINTEXT,HOST:PLAINTEXT",
        }
    )
    listeners = parse_listeners(settings_of(found))
    assert [(one.name, one.host, one.port) for one in listeners] == [
        ("PLAINTEXT", "", 29092),
        ("HOST", "", 9092),
    ]
    assert [one.advertised_host for one in listeners] == ["broker", "::1"]


def test_blank_variables_are_not_set() -> None:
    found = sources({"KAFKA_LISTENERS": " ", "KAFKA_ADVERTISED_LISTENERS": "", "CLUSTER_ID": ""})
    settings = settings_of(found)
    assert settings.listeners == ("PLAINTEXT://:9092",)
    assert settings.broker_lite_cluster_id is None


@pytest.mark.parametrize(
    "variable",
    ["CLUSTER_ID", "KAFKA_KRAFT_CLUSTER_ID", "KAFKA_CLUSTER_ID", "KAFKA_BROKER_LITE_CLUSTER_ID"],
)
def test_cluster_id(variable: str) -> None:
    found = sources({variable: "4L6g3nShT-eMCtK--X86sw"})
    settings = settings_of(found)
    assert settings.broker_lite_cluster_id == "4L6g3nShT-eMCtK--X86sw"
    assert settings.origin_of("broker.lite.cluster.id") == variable


@pytest.mark.parametrize("text", ["nonsense", "A://h", "A://h:x", "A://h:1,B"])
def test_what_makes_no_sense_is_told_by_the_name_under_which_it_was_given(text: str) -> None:
    with pytest.raises(SettingsError, match=r"^advertised\.listeners: .* is not NAME://HOST:PORT"):
        settings_of(sources({"KAFKA_ADVERTISED_LISTENERS": text}))


def test_topics_of_the_variable_that_another_image_has_for_them() -> None:
    found = sources({"KAFKA_CREATE_TOPICS": "one:1:3, two:2:1:compact,three,"})
    settings = settings_of(found)
    assert settings.broker_lite_topics == "one:1\ntwo:2:cleanup.policy=compact\nthree"
    assert settings.origin_of("broker.lite.topics") == "KAFKA_CREATE_TOPICS"


def test_topics_of_debezium() -> None:
    found = sources({"CREATE_TOPICS": " one:1:1 , two:2:1:compact"})
    settings = settings_of(found)
    assert settings.broker_lite_topics == "one:1\ntwo:2:cleanup.policy=compact"
    assert settings.origin_of("broker.lite.topics") == "CREATE_TOPICS"


def test_topics_of_both() -> None:
    found = sources({"CREATE_TOPICS": "two:2:1", "KAFKA_CREATE_TOPICS": "one:1:1"})
    settings = settings_of(found)
    assert settings.broker_lite_topics == "one:1\ntwo:2"
    assert settings.origin_of("broker.lite.topics") == "KAFKA_CREATE_TOPICS and CREATE_TOPICS"


@pytest.mark.parametrize("separator", ["\n", "\n;]", "$'\n'"])
def test_another_separator(separator: str) -> None:
    topics = "one:1:1\ntwo:2:1\n"
    variables = {"KAFKA_CREATE_TOPICS": topics, "KAFKA_CREATE_TOPICS_SEPARATOR": separator}
    settings = settings_of(sources(variables))
    assert settings.broker_lite_topics == "one:1\ntwo:2"
