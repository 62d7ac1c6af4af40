"""`broker-lite spark`: what a person says wrong is one line, before anything is started."""

import pytest

from broker_lite.cli import main
from broker_lite.commands.spark.jobs import JOBS


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "the following arguments are required: JOB"),
        (("frobnicate",), "invalid choice: 'frobnicate'"),
        (("verify",), "the following arguments are required: path"),
        (("verify", "logs", "--conf", "spark.x"), "--conf spark.x: NAME=VALUE is expected"),
        (("compact", "logs"), "the following arguments are required: topics"),
    ],
)
def test_wrong_use(
    arguments: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["spark", *arguments]) == 2
    told = capsys.readouterr().err
    assert expected in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("job", JOBS)
def test_every_job_has_help(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["spark", job, "--help"])
    told = capsys.readouterr().out
    is_of_spark = job != "replay"  # which is only called by the name of a job
    assert ("--master" in told) == is_of_spark
    assert ("--conf" in told) == is_of_spark
