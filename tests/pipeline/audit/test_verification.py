"""What a verification tells, as JSON and as a page."""

import json
from dataclasses import replace

from broker_lite.pipeline.audit.task import Finding
from broker_lite.pipeline.audit.verification import SHOWN_MAX, Verification, verification_page

SOUND = Verification(
    path="logs", partitions=1, segments=2, batches=3, records=4, size_bytes=5000, findings=()
)
FINDING = Finding("logs/t-0/0.log", 61, "R-06", "<wrong> checksum")


def test_a_sound_log() -> None:
    assert SOUND.is_sound
    assert SOUND.as_json()["findings"] == []
    text = verification_page(SOUND)
    assert "nothing is wrong" in text
    assert "<h2>" not in text


def test_findings() -> None:
    verification = replace(SOUND, findings=(FINDING, FINDING._replace(position=-1)))
    told = json.loads(json.dumps(verification.as_json()))
    assert told["is_sound"] is False
    assert told["findings"][0] == {
        "file": "logs/t-0/0.log",
        "position": 61,
        "rule": "R-06",
        "text": "<wrong> checksum",
    }
    text = verification_page(verification)
    assert "&lt;wrong&gt; checksum" in text
    assert '<td class="number">61</td>' in text
    assert '<td class="number"></td>' in text


def test_a_line_of_a_finding() -> None:
    assert FINDING.line == "logs/t-0/0.log at 61: R-06: <wrong> checksum"
    assert FINDING._replace(position=-1).line == "logs/t-0/0.log: R-06: <wrong> checksum"


def test_too_many_findings_for_a_page() -> None:
    text = verification_page(replace(SOUND, findings=(FINDING,) * (SHOWN_MAX + 1)))
    assert text.count("61</td>") == SHOWN_MAX
    assert "The first 5" in text
