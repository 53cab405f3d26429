"""`configs/nightly.yaml`, and the steps of `docs/nightly.md` as they stand on the page."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "nightly.md").read_text(encoding="utf-8")
CONFIG = ROOT / "configs" / "nightly.yaml"
PART, ASKED = "policies", 38
"""The folder of the corpus that is in the copy; the questions that the rest has no evidence for."""


def block(name):
    """Return the code of one block of the page."""
    found = re.search(rf"<!-- steps: {name} -->\n```\w*\n(.*?)```", PAGE, re.DOTALL)
    assert found, name
    return found[1]


def workflow():
    """Return the workflow of the page; YAML reads its `on` as true."""
    return yaml.safe_load(block("workflow"))


def of_part(doc):
    return doc.startswith(f"{PART}/")


@pytest.fixture
def copy(tmp_path):
    """Return a part of ours, with a virtual environment whose Python is this one."""
    folder = tmp_path / "rag"
    part = Path("corpora", "insurellm", PART)
    shutil.copytree(ROOT / part, folder / part)
    given = Path("testsets", "insurellm.jsonl")
    rows = [json.loads(line) for line in (ROOT / given).read_text(encoding="utf-8").splitlines()]
    asked = [row for row in rows if all(of_part(span["doc"]) for span in row.get("evidence", ()))]
    for row in asked:
        row["documents"] = {doc: 1 for doc in row.get("documents", ()) if of_part(doc)}
    assert len(asked) == ASKED
    (folder / given).parent.mkdir()
    text = "".join(json.dumps(row) + "\n" for row in asked)
    (folder / given).write_text(text, encoding="utf-8")
    (folder / "configs").mkdir()
    shutil.copy(CONFIG, folder / "configs")
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return folder


def done(folder, command, **environment):
    """Run a step as GitHub's runner does; nothing is asked of a network."""
    path = f"{folder}/.venv/bin:{os.environ['PATH']}"
    offline = {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT), "PATH": path}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, **offline, **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_every_line_of_the_configuration_has_a_comment():
    lines = [line for line in CONFIG.read_text(encoding="utf-8").splitlines() if line.strip()]

    assert [line for line in lines if "#" not in line] == []


def test_the_nights_of_the_pool_have_asked_every_question():
    given = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    questions = (ROOT / "testsets" / "insurellm.jsonl").read_text(encoding="utf-8").splitlines()

    assert given["sample_seed"] == "date"
    assert given["sample"] * given["gate"]["pool"] == len(questions) == 180
    assert "20 questions a night" in PAGE
    assert "nine nights have asked all 180" in PAGE


def test_the_workflow_keeps_what_it_brings_back_also_after_a_failed_night():
    steps = {
        step.get("name", step.get("uses")): step for step in workflow()["jobs"]["nightly"]["steps"]
    }
    back, kept = steps["Bring back the last nights"]["with"], steps["Keep this night"]["with"]

    assert (back["path"], back["key"]) == (kept["path"], kept["key"])
    assert kept["key"].startswith(back["restore-keys"])
    assert steps["Keep this night"]["if"] == steps["Show the reports"]["if"] == "always()"
    assert workflow()["permissions"] == {"contents": "read"}


@pytest.mark.slow
def test_the_steps_of_the_page_run_as_they_stand(copy):
    begun = done(copy, block("begin"))
    assert begun.returncode == 0, begun.stderr
    baseline = json.loads((copy / "baselines" / "main.json").read_text(encoding="utf-8"))
    assert baseline

    summary = copy / "summary.md"
    steps = workflow()["jobs"]["nightly"]["steps"]
    ours = [step for step in steps if "run" in step and step["name"] != "Install"]
    assert [step["name"] for step in ours] == ["Run and judge"]
    for step in ours:
        said = done(copy, step["run"], GITHUB_STEP_SUMMARY=str(summary))
        assert said.returncode == 0, (said.stdout, said.stderr)
    (shown,) = [step for step in steps if step.get("name") == "Show the reports"]
    for path in shown["with"]["path"].split():
        assert (copy / path).exists(), path
    assert ElementTree.parse(copy / "nightly.xml").getroot().iter("testcase")
    said = summary.read_text(encoding="utf-8")
    assert "The gate passed" in said
    whole, night = sorted((copy / "reports").glob("2*/run.json"))
    assert json.loads(whole.read_text())["sample"] is None
    sample = json.loads(night.read_text())["sample"]
    assert (sample["of"], sample["size"]) in [(ASKED, 20), (ASKED, ASKED - 20)]  # every other day
    assert f"{sample['size']} of {ASKED} questions, from one run of at most 9 days" in said

    line = block("cron").strip()
    assert line.startswith("17 2 * * * cd /srv/rag && ")
    command = line.removeprefix("17 2 * * * ").replace("/srv/rag", str(copy))
    again = done(copy, command)
    assert (again.returncode, again.stdout) == (0, ""), again.stdout
    shutil.rmtree(copy / "baselines")
    failed = done(copy, command)
    assert "baseline set RUN --name main" in failed.stdout
    assert len(list((copy / "reports").glob("2*"))) == 4
