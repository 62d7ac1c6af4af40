"""`kafka features`, with the flags and the lines of kafka-features.sh."""

import pytest

from tests.support.command_line import CommandLine

FAILED = (
    "The update failed for all features since the following feature had an error:"
    " Invalid update version 9 for feature group.version."
    " Local controller 1 only supports versions 0-1"
)


@pytest.fixture
def features(command: CommandLine, bootstrap: str) -> CommandLine:
    """The tool with a broker's address."""
    return command.of("kafka", "features", "--bootstrap-server", bootstrap)


def test_describe(features: CommandLine) -> None:
    lines = features.ok("describe").splitlines()
    rows = [dict(cell.split(": ") for cell in line.split("  ") if cell.strip()) for line in lines]
    levels = {row["Feature"].strip(): row["FinalizedVersionLevel"].strip() for row in rows}
    assert levels["group.version"] == "1"
    assert levels["metadata.version"].startswith("4.")
    assert lines == sorted(lines)


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (("upgrade", "--feature", "group.version=1"), "group.version was upgraded to 1.\n"),
        (
            ("downgrade", "--feature", "group.version=0", "--dry-run"),
            "group.version can be downgraded to 0.\n",
        ),
        (
            ("disable", "--feature", "group.version", "--dry-run"),
            "group.version can be disabled.\n",
        ),
        (
            ("disable", "--feature", "group.version", "--unsafe", "--dry-run"),
            "group.version can be disabled.\n",
        ),
    ],
)
def test_change(features: CommandLine, arguments: tuple[str, ...], printed: str) -> None:
    assert features.ok(*arguments) == printed


def test_a_change_that_is_refused(features: CommandLine) -> None:
    done = features("upgrade", "--feature", "group.version=9", "--feature", "transaction.version=2")
    assert done.code == 1
    assert done.out.splitlines() == [
        f"Could not upgrade group.version to 9. {FAILED}",
        f"Could not upgrade transaction.version to 2. {FAILED}",
    ]
    assert done.err == "broker-lite: 2 out of 2 operation(s) failed.\n"
    done = features("upgrade", "--feature", "group.version=9", "--dry-run")
    assert done.out == f"Can not upgrade group.version to 9. {FAILED}\n"


def test_the_levels_of_a_release(features: CommandLine) -> None:
    done = features("downgrade", "--release-version", "4.0", "--dry-run")
    assert len(done.out.splitlines()) == 7
    done = features("upgrade", "--release-version", "3.3", "--dry-run")
    assert "upgrade metadata.version to 7" in done.out
    done = features("downgrade", "--metadata", "3.9", "--dry-run")
    assert done.out.startswith(" `metadata` flag is deprecated")
    assert "Can not downgrade metadata.version to 21. " in done.out


def test_what_needs_no_broker(command: CommandLine) -> None:
    printed = command.ok("kafka", "features", "version-mapping", "--release-version", "3.3")
    assert printed.startswith("metadata.version=7 (3.3)\n")
    printed = command.ok(
        "kafka", "features", "feature-dependencies", "--feature", "share.version=1"
    )
    assert printed == "share.version=1 has no dependencies.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("upgrade",), "You must specify at least one feature to upgrade"),
        (
            ("upgrade", "--feature", "a"),
            "Can't parse feature=level string a: equals sign not found.",
        ),
        (
            ("upgrade", "--feature", "a=x"),
            "Can't parse feature=level string a=x: unable to parse x as a short.",
        ),
        (
            ("upgrade", "--feature", "a=1", "--feature", "a=2"),
            "Feature a was specified more than once.",
        ),
        (
            ("disable", "--feature", "a", "--feature", "a"),
            "Feature a was specified more than once.",
        ),
        (
            ("upgrade", "--release-version", "4.0", "--feature", "a=1"),
            "--release-version excludes --feature and --metadata",
        ),
    ],
)
def test_wrong_use(features: CommandLine, arguments: tuple[str, ...], message: str) -> None:
    assert features.fails(*arguments) == f"2: {message}"
