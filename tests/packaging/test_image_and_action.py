"""The container image's recipe and the GitHub action, as far as they go without either."""

import json
import os
import re
import shlex
import subprocess
import sysconfig
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = {step.get("name"): step for step in ACTION["runs"]["steps"]}


@pytest.fixture(scope="module")
def recipe():
    """Return the Dockerfile's instructions: the name and the rest of each, lines joined."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert len(text.splitlines()) <= 25
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    return [line.split(None, 1) for line in lines if not line.startswith("#")]


def test_the_image_starts_the_command_line_as_a_user_without_rights(recipe):
    values = dict(recipe)

    assert json.loads(values["ENTRYPOINT"]) == ["rag-assay"]
    assert values["USER"] == "assay"
    assert recipe.index(["USER", "assay"]) > max(
        number for number, (name, _) in enumerate(recipe) if name == "RUN"
    )
    assert ["ARG", 'TORCH_INDEX=""'] in recipe


def test_what_the_image_copies_is_there_and_not_ignored(recipe):
    admitted = (ROOT / ".dockerignore").read_text("utf-8").split()
    copied = [name for verb, rest in recipe if verb == "COPY" for name in rest.split()[:-1]]

    assert set(copied) == {"requirements", "pyproject.toml", "README.md", "LICENSE", "harness"}
    for name in copied:
        assert (ROOT / name).exists()
        assert f"!{name}" in admitted


def test_torch_is_installed_before_what_needs_it_and_from_the_index_that_was_named(recipe):
    commands = [rest for verb, rest in recipe if verb == "RUN"]
    first = commands[0].removeprefix("pip install ")

    for index, expected in (("", []), ("URL", ["--index-url", "URL"])):
        words = subprocess.run(
            ["sh", "-c", f"printf '%s\\n' {first}"],
            env={"TORCH_INDEX": index}, capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
        assert words == [
            "--no-cache-dir", *expected, "--requirement", "/source/requirements/torch.txt",
        ]  # fmt: skip
    assert shlex.split(commands[1])[:4] == ["pip", "install", "--no-cache-dir", "/source[$EXTRAS]"]


def test_the_inputs_that_the_action_names_are_the_ones_it_reads():
    used = set(re.findall(r"inputs\.([\w-]+)", json.dumps(ACTION)))

    assert used == set(ACTION["inputs"])


@pytest.mark.parametrize(
    ("floor", "status", "verdict"), [(0.0, 0, "passed"), (1.0, 1, "failed: 1 of 1 check")]
)
def test_the_action_judges_and_writes_status_and_summary(project, floor, status, verdict):
    project.config(gate={"min": {"token_f1": floor}}, retrievers=["bm25"], embedders=None)
    summary, output = project.folder / "summary.md", project.folder / "output"
    step = STEPS["Run and judge"]
    inputs = {"CONFIG": "config.yaml", "BASELINE": "", "ARGUMENTS": "--set seed=3"}
    assert set(step["env"]) == set(inputs)
    files = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(output)}
    path = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
        env={**os.environ, **inputs, **files, "PATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == status, done.stderr
    assert output.read_text("utf-8") == f"status={status}\n"
    assert f"The gate {verdict}" in summary.read_text("utf-8")
