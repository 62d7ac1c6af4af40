"""Damaging logs from a seed, one case after the other, and having each of them judged."""

import random
import sys
import time
from collections.abc import Sequence
from typing import Final, Protocol

from tests.fuzz.log_damage import Case, make_case, sound_case
from tests.fuzz.log_templates import Template

_SOUND_SHARE: Final = 0.1
_FAULTS_MAX: Final = 20
_PROGRESS_CASES: Final = 500


class Found(Protocol):
    """What a run saw."""

    cases: int
    faults: list[str]


class Judge(Protocol):
    """Uses a damaged log, and notes what is wrong with what comes."""

    def judge(self, number: int, source: random.Random, template: Template, case: Case) -> None:
        """Judge one case."""


def judge_all(
    seed: int, cases: int, templates: Sequence[Template], judge: Judge, found: Found
) -> None:
    """Do all cases, up to very many faults; a terminal shows how far it is.

    Args:
        seed: of chance.
        cases: how many.
        templates: the undamaged logs.
        judge: of each case.
        found: takes what the judge sees.
    """
    began = time.monotonic()
    for number in range(cases):
        judge_one(seed, number, templates, judge)
        found.cases += 1
        if len(found.faults) >= _FAULTS_MAX:
            break
        if number % _PROGRESS_CASES == 0 and sys.stderr.isatty():
            rate = found.cases / (time.monotonic() - began)
            print(f"\r{number:,} of {cases:,}, {rate:.0f}/s", end="", file=sys.stderr)


def judge_one(seed: int, number: int, templates: Sequence[Template], judge: Judge) -> None:
    """Do one case, alone or after others: it is the same by its number."""
    source = random.Random(f"{seed} {number}")
    template = source.choice(templates)
    make = sound_case if source.random() < _SOUND_SHARE else make_case
    judge.judge(number, source, template, make(source, template.files, template.batches))
