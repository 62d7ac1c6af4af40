"""A project of somebody else's, whose tests use the pytest plugin."""

import shutil
from pathlib import Path

import pytest

from tests.packaging.environment import Environment

pytestmark = pytest.mark.slow

SAMPLE_PROJECT = Path(__file__).parent / "sample_project"


def test_sample_project_passes(pure_wheel: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(SAMPLE_PROJECT, project, ignore=shutil.ignore_patterns("__pycache__"))
    environment = Environment(tmp_path / "venv", has_compiler=False)
    environment.pip("install", pure_wheel, "--requirement", project / "requirements.txt")
    printed = environment.run("python", "-m", "pytest", "-p", "no:cacheprovider", folder=project)
    assert "3 passed" in printed
