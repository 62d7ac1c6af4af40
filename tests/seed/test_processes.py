"""Topics and records of a broker as a user starts it, read back by a client."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from broker_lite.seed.marker import SEED_MARKER_FILE
from tests.support.broker_process import BrokerProcess

WriteFile = Callable[[str, str | bytes], str]
TIMEOUT_S = 30


def consume(bootstrap: str, topic: str, partition: int = 0) -> list[tuple[object, ...]]:
    """Key, value, time and headers of all records of a partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "g",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    found: list[tuple[object, ...]] = []
    while True:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        if message.error() is not None:
            consumer.close()
            return found
        time_ms = message.timestamp()[1]
        found.append((message.key(), message.value(), time_ms, message.headers()))


def partitions(bootstrap: str) -> dict[str, int]:
    """The topics that a client is told of, without Kafka's own."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g"})
    topics = consumer.list_topics(timeout=TIMEOUT_S).topics
    consumer.close()
    return {
        name: len(topic.partitions) for name, topic in topics.items() if not name.startswith("__")
    }


def serve(data_dir: Path, *arguments: str) -> subprocess.Popen[str]:
    """A broker that is not waited for."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "broker_lite", "serve", "--port", "0"),
            *("--data-dir", str(data_dir), *arguments),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until_written(path: Path) -> None:
    deadline_s = time.monotonic() + TIMEOUT_S
    while not path.exists() or path.stat().st_size == 0:
        assert time.monotonic() < deadline_s, f"{path} stays empty"
        time.sleep(0.005)


@pytest.mark.client
def test_flags_files_and_a_restart(
    tmp_path: Path, write_file: WriteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_BROKER_LITE_TOPICS_FILE", write_file("t.txt", "# more\nlisted:3\n"))
    seed = write_file(
        "seed.jsonl",
        '{"topic":"orders","partition":1,"key":"k","value":{"total":5},"headers":{"h":"1"},'
        '"timestamp":"2023-11-14T22:13:20Z"}\n'
        '{"topic":"orders","partition":1,"key":null,"value":{"base64":"AP8="},"timestamp":5}\n',
    )
    arguments = ["--topic", "orders:2:retention.ms=-1", "--topic", "quiet", "--seed-file", seed]
    expected = [
        (b"k", b'{"total":5}', 1_700_000_000_000, [("h", b"1")]),
        (None, b"\x00\xff", 5, None),
    ]
    for _ in range(2):
        with BrokerProcess(tmp_path / "data", arguments=arguments) as broker:
            found = partitions(broker.bootstrap)
            assert found == {"orders": 2, "quiet": 1, "listed": 3}
            assert consume(broker.bootstrap, "orders", 1) == expected
            assert consume(broker.bootstrap, "orders", 0) == []


@pytest.mark.client
def test_csv(tmp_path: Path, write_file: WriteFile) -> None:
    text = 'topic,key,value,headers,timestamp\nt,k,"a ""b""","{""h"":null}",7\nt,,,,8\n'
    arguments = ["--seed-file", write_file("seed.csv", text)]
    with BrokerProcess(tmp_path / "data", arguments=arguments) as broker:
        assert consume(broker.bootstrap, "t") == [
            (b"k", b'a "b"', 7, [("h", None)]),
            (None, None, 8, None),
        ]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--topic", "a:1:cleanup.policy=x"], "--topic: topic a: Invalid value x for config"),
        (["--topic", "a:b"], "--topic: a:b: b is no number of partitions"),
        (["--topics-file", "topics.txt"], "topics.txt: cannot be read: No such file or directory"),
        (["--seed-file", "nosuch.csv"], "nosuch.csv: cannot be read: No such file or directory"),
        (["--seed-file", "seed.txt"], "seed.txt: a seed file is called .jsonl or "),
        (["--seed-file", "bad.csv"], "bad.csv:2: partition: x is no partition, 0 to 2147483647"),
    ],
)
def test_what_a_person_did_wrong_is_one_line_and_code_2(
    arguments: list[str],
    reason: str,
    tmp_path: Path,
    write_file: WriteFile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_file("bad.csv", "topic,partition\nt,x\n")
    monkeypatch.chdir(tmp_path)
    out, err = serve(tmp_path / "data", *arguments).communicate(timeout=TIMEOUT_S)
    assert out == ""
    (line,) = (line for line in err.splitlines() if line.startswith("broker-lite: "))
    assert line.startswith(f"broker-lite: {reason}")
    assert "Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_seed_that_is_cut_short_is_made_whole_by_the_next_start(
    number: signal.Signals, tmp_path: Path, write_file: WriteFile
) -> None:
    count = 100_000
    text = "".join(f'{{"topic":"t","value":"{line:060}"}}\n' for line in range(count))
    seed = write_file("seed.jsonl", text)
    data_dir = tmp_path / "data"
    with serve(data_dir, "--seed-file", seed) as process:
        wait_until_written(data_dir / SEED_MARKER_FILE)
        process.send_signal(number)
        out, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == (0 if number is not signal.SIGKILL else -number), err
        assert out == ""
    assert (data_dir / SEED_MARKER_FILE).exists()
    with BrokerProcess(data_dir, arguments=["--seed-file", seed]) as broker:
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"})
        offsets = consumer.get_watermark_offsets(TopicPartition("t", 0), timeout=TIMEOUT_S)
        consumer.close()
        assert offsets == (0, count)
        assert "unfinished seed undone topics=t" in broker.log
