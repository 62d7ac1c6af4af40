"""`broker-lite serve --security WORD`: what is printed works, and a restart keeps everything."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from confluent_kafka import Producer

from broker_lite.settings.sources.java_properties import parse_properties
from tests.support.broker_process import BrokerProcess
from tests.support.tls_client import seen_with_ca

WORDS = ("ssl", "mtls", "sasl_plaintext", "sasl_ssl")
SECRET = "bobs-own-secret"


def serve(data_dir: Path, word: str, *arguments: str, port: int = 0) -> BrokerProcess:
    flags = ("--security", word, "--control", "127.0.0.1:0", "--user", f"bob:{SECRET}")
    log_path = data_dir.with_name(f"log-{port}")
    return BrokerProcess(data_dir, arguments=(*flags, *arguments), port=port, log_path=log_path)


def send(settings: dict[str, str]) -> None:
    producer = Producer({**settings})
    producer.produce("t", b"x")
    assert producer.flush(30) == 0


def fetch(broker: BrokerProcess, path: str) -> bytes:
    with urllib.request.urlopen(f"{broker.control_url}{path}") as answer:
        data: bytes = answer.read()
    return data


@pytest.mark.parametrize("word", WORDS)
def test_what_is_served_works_and_is_kept(word: str, tmp_path: Path) -> None:
    with serve(tmp_path / "data", word) as broker:
        settings = json.loads(fetch(broker, "/v1/security/librdkafka.json"))
        send(settings)
        port = broker.port
        files = {path: path.read_bytes() for path in (tmp_path / "data").glob("broker-lite-*")}
        assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    with serve(tmp_path / "data", word, port=port) as broker:
        send(settings)
        assert json.loads(fetch(broker, "/v1/security/librdkafka.json")) == settings
        assert {path: path.read_bytes() for path in files} == files


@pytest.mark.parametrize("word", WORDS)
def test_what_is_printed_is_what_a_client_needs(word: str, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "broker_lite", "serve", "--port", "0"),
        *("--data-dir", str(tmp_path / "data"), "--security", word, "--user", f"bob:{SECRET}"),
        *("--control", "127.0.0.1:0"),
    ]
    log = tmp_path / "log"
    with (
        log.open("w") as sink,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=sink, text=True) as process,
    ):
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while not lines[-1].startswith("bootstrap.servers="):
            lines.append(process.stdout.readline())
            assert lines[-1], log.read_text()
        process.terminate()
        printed = "".join([*lines, rest := process.stdout.read()])
    texts = parse_properties(lines[-1] + rest)
    assert texts["bootstrap.servers"] == lines[0].split()[4]
    assert (texts["security.protocol"] == "SSL") is not word.startswith("sasl")
    for name in ("ssl.truststore.location", "ssl.keystore.location"):
        if name in texts:
            assert Path(texts[name]).read_text().startswith("-----BEGIN")
    assert ("ssl.truststore.location" in texts) is (word != "sasl_plaintext")
    assert ("user-secret" in texts.get("sasl.jaas.config", "")) is word.startswith("sasl")
    assert "bob" in printed
    assert SECRET not in printed + log.read_text()


def test_a_fault_of_the_certificate_is_there_from_the_start_on(tmp_path: Path) -> None:
    with serve(tmp_path / "data", "ssl", "--security-fault", "expired") as broker:
        ca = fetch(broker, "/v1/security/ca.pem").decode()
        assert seen_with_ca(broker.bootstrap, ca) == "certificate has expired"
    with serve(tmp_path / "data", "ssl") as broker:
        assert seen_with_ca(broker.bootstrap, ca) == "fine"


def test_secrets_are_in_no_file_but_those_of_the_owner(tmp_path: Path) -> None:
    arguments = ("--set", "broker.lite.log.level=debug")
    with serve(tmp_path / "data", "sasl_ssl", *arguments) as broker:
        send(json.loads(fetch(broker, "/v1/security/librdkafka.json")))
        log = broker.log
    server = (tmp_path / "data" / "broker-lite-server.pem").read_text()
    assert SECRET not in log
    assert "user-secret" not in log
    assert "PRIVATE KEY" not in log
    for path in (tmp_path / "data").rglob("*"):
        if path.is_file() and SECRET.encode() in path.read_bytes():
            raise AssertionError(f"{path} has a password")
    assert "PRIVATE KEY" in server


def test_nothing_of_it_is_imported_without_a_word(tmp_path: Path) -> None:
    code = (
        "import sys; from broker_lite.__main__ import main; import atexit\n"
        "atexit.register(lambda: print(sorted(n for n in sys.modules if 'one_word.' in n or\n"
        "  'security.one_word' in n or n.endswith('sources.one_word') or 'cryptography' in n),"
        " file=sys.stderr))\n"
        "sys.argv = ['broker-lite', 'serve', *sys.argv[1:]]; sys.exit(main())"
    )
    for arguments, told in ((), "[]\n"), (("--security", "ssl", "--control", ""), "keep"):
        command = [sys.executable, "-c", code, "--port", "0", "--data-dir", str(tmp_path)]
        with subprocess.Popen(
            [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.terminate()
            process.stdout.read()
            assert process.stderr is not None
            err = process.stderr.read()
        assert told in err
        assert "cryptography" not in err
        assert "own.maker" not in err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--security", "tls"), "--security: Invalid value tls"),
        (("--user", "bob:hidden"), "--user: broker.lite.security.users needs"),
        (("--security", "ssl", "--user", "hidden"), "--user: user 1 is not NAME:PASSWORD"),
        (("--security", "ssl", "--san", "a b"), "--san: 'a b' is no name"),
        (
            ("--security", "ssl", "--security-fault", "stolen"),
            "--security-fault: Invalid value stolen",
        ),
        (
            ("--security", "sasl_plaintext", "--security-fault", "expired"),
            "--security-fault: broker.lite.security.fault is about a certificate",
        ),
        (("--security-only",), "--security-only: broker.lite.security.only needs"),
    ],
)
def test_wrong_use_is_one_line(tmp_path: Path, arguments: tuple[str, ...], reason: str) -> None:
    command = [sys.executable, "-m", "broker_lite", "serve", "--port", "0", *arguments]
    done = subprocess.run(
        [*command, "--data-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert done.returncode == 2
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
    assert "hidden" not in done.stderr
