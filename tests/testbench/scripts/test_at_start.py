"""`serve --script`: checked before the start, run from then on, told in the log."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from broker_lite.testing import Broker, BrokerFailed
from tests.testbench.scripts.test_run import ASK, errors, get, wait

SCRIPT: dict[str, Any] = {"name": "s", "topics": ["t"], "rules": [{"id": "a", **ASK}]}


def written(tmp_path: Path, script: object) -> Path:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(script))
    return path


def test_a_broker_with_a_script(tmp_path: Path) -> None:
    with Broker({"broker.lite.script": written(tmp_path, SCRIPT)}) as broker:
        assert errors(broker, 2) == [6, 0]
        assert wait(broker, "s1") == {"ok": True, "is_final": True}
        record = get(broker, "s1", "/log")
        broker.reset()
        assert errors(broker, 1) == [0]  # the topic is there again
    assert "broker_lite.script script: ok" in broker.log
    record["decisions"][0]["match"] = 2
    with Broker({"broker.lite.script": written(tmp_path, record)}) as broker:
        assert errors(broker, 3) == [0, 6, 0]


def test_brokers_as_the_script_wants(tmp_path: Path) -> None:
    path = written(tmp_path, {**SCRIPT, "brokers": 2})
    with Broker({"broker.lite.script": path}) as broker:
        assert len(broker.addresses) == 2
    with pytest.raises(BrokerFailed, match="it needs 2 brokers"):
        Broker({"broker.lite.script": path, "broker.lite.brokers": 1}).start()


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ({**SCRIPT, "rules": [{}]}, "s.json: rules[0]: the rule has no action"),
        ({"ruls": []}, "s.json: Object contains unknown field `ruls`"),
        ({"script": {"rules": 1}}, "s.json: Expected `array`, got `int` - at `$.script.rules`"),
        ({"topics": ["t:x"]}, "x is no number of partitions"),
    ],
)
def test_a_wrong_script_is_refused(tmp_path: Path, script: object, text: str) -> None:
    with pytest.raises(BrokerFailed) as caught:
        Broker({"broker.lite.script": written(tmp_path, script)}).start()
    assert text in str(caught.value)


def test_serve_tells_at_the_end_what_is_missing(tmp_path: Path) -> None:
    path = written(tmp_path, SCRIPT)
    command = [sys.executable, "-m", "broker_lite", "serve", "--port", "0", "--script", str(path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b"ready on" in process.stdout.readline()
        process.terminate()
        _, said = process.communicate(timeout=20)
    assert b"ERROR broker_lite.script script: rule a acted on no request" in said
    assert process.returncode == 0


def test_a_broker_is_ready_only_when_the_script_is_in_force(tmp_path: Path) -> None:
    offsets = {f"g{number}": {"t": {"0": 1}} for number in range(1_000)}
    records = [{"topic": "t", "value": "x"}] * 5_000
    path = written(tmp_path, {**SCRIPT, "records": records, "offsets": offsets})
    command = [sys.executable, "-m", "broker_lite", "serve", "--port", "0", "--script", str(path)]
    command += ["--control", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stderr is not None
        while b"control API at " not in (said := process.stderr.readline()):
            assert said, "it ended"
        url = said.partition(b"control API at ")[2].decode().strip()
        while not is_ready(url):
            pass
        with urllib.request.urlopen(f"{url}/v1/faults", timeout=20) as answer:
            rules = json.loads(answer.read())
        process.terminate()
        assert process.wait(20) == 0
    assert [rule["id"] for rule in rules] == ["a"]


def is_ready(url: str) -> bool:
    try:
        urllib.request.urlopen(f"{url}/v1/ready", timeout=20).close()
    except urllib.error.HTTPError as error:
        error.close()
        return error.code != 503
    return True
