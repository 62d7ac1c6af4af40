"""The result of verifying a log, and its HTML page."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from broker_lite.pipeline.audit.task import Audit, Finding
from broker_lite.pipeline.files.layout import PartitionLog
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.report.page import Column, Html, Tile, code, page, section, table, tiles
from broker_lite.pipeline.report.text import count_text, size_text

SHOWN_MAX: Final = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """How much was checked, and what is wrong.

    Attributes:
        findings: sorted by file and position.
    """

    path: str
    partitions: int
    segments: int
    batches: int
    records: int
    size_bytes: int
    findings: tuple[Finding, ...]

    @classmethod
    def of(
        cls,
        path: str,
        logs: Mapping[TopicPartition, PartitionLog],
        audits: Sequence[Audit],
        findings: Iterable[Finding],
    ) -> Self:
        """Sum up the results of all tasks."""
        return cls(
            path=path,
            partitions=len(logs),
            segments=sum(len(log.segments) for log in logs.values()),
            batches=sum(one.batches for one in audits),
            records=sum(one.records for one in audits),
            size_bytes=sum(one.size_bytes for one in audits),
            findings=tuple(sorted(findings)),
        )

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def as_json(self) -> dict[str, Any]:
        """Return it as a dict for JSON."""
        findings = [finding._asdict() for finding in self.findings]
        return {"is_sound": self.is_sound, **asdict(self), "findings": findings}


def verification_page(verification: Verification) -> str:
    """Render a verification as HTML."""
    parts = [
        tiles(
            (
                _verdict(verification),
                Tile(count_text(verification.partitions), "partitions"),
                Tile(count_text(verification.segments), "segments"),
                Tile(count_text(verification.batches), "batches"),
                Tile(count_text(verification.records), "records"),
                Tile(size_text(verification.size_bytes), "read"),
            )
        )
    ]
    if verification.findings:
        parts += [_by_rule(verification.findings), _one_by_one(verification.findings)]
    return page("Verification of a Kafka log", verification.path, parts)


def _verdict(verification: Verification) -> Tile:
    if verification.is_sound:
        return Tile("sound", "nothing is wrong", "good")
    return Tile(count_text(len(verification.findings)), "findings", "bad")


def _by_rule(findings: tuple[Finding, ...]) -> Html:
    counts = Counter(finding.rule for finding in findings)
    examples = {finding.rule: finding.text for finding in reversed(findings)}
    rows = [(rule, count_text(count), examples[rule]) for rule, count in counts.most_common()]
    columns = Column("Rule"), Column("Findings", True), Column("The first of them")
    return section("By rule", "Which rules are broken, and how often.", table(columns, rows))


def _one_by_one(findings: tuple[Finding, ...]) -> Html:
    shown = findings[:SHOWN_MAX]
    text = "By file and position."
    if len(findings) > len(shown):
        text += f" The first {count_text(SHOWN_MAX)} of {count_text(len(findings))}."
    rows = [
        (
            code(finding.file),
            count_text(finding.position) if finding.position >= 0 else "",
            finding.rule,
            finding.text,
        )
        for finding in shown
    ]
    columns = Column("File"), Column("Position", True), Column("Rule"), Column("What is wrong")
    return section("One by one", text, table(columns, rows))
