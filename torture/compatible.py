"""The oldest and the newest libraries that are allowed, on every Python that is installed.

python -m torture.compatible            # `make compatible`, and its place in docs/reliability.md
python -m torture.compatible 3.11       # some Pythons alone, and no file is written

Status 1 where anything fails.

torch may be had for some Pythons with several gigabytes of CUDA only: they are left out, unless
HARNESS_COMPATIBLE_CUDA=1.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
EXTRAS = "offline,fast,frames,openai,local-llm,static,documents,parquet"
TESTED_BY = ("pytest", "hypothesis", "jsonschema", "ir-measures", "pytrec-eval-terrier")
TESTED_BY += ("playwright", "axe-playwright-python", "scipy")
PARTS = ("models/test_hosted_chat.py", "index", "chunkers/test_recursive.py", "cli", "corpus")
PARTS += ("embedders", "rerankers", "systems", "metrics/test_every_metric.py")
PARTS += ("behaviour/test_library_functions.py", "behaviour/test_run_options.py")
OURS = "filterwarnings=default\nerror:::harness"
"""Old libraries warn of newer ones; warnings from our own code are errors."""
UV = (sys.executable, "-m", "uv")
LEFT_OUT = "left out"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- compatible: begin -->", "<!-- compatible: end -->"


def main(pythons: Sequence[str]) -> int:
    """Say of each Python and each end of what is allowed whether it works."""
    failed, lines = False, list[str]()

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(" ".join(line.split()))

    for python in pythons or PYTHONS:
        # By uv: what pyenv has put on the path may stand for nothing.
        found = _run([*UV, "python", "find", "--no-python-downloads", "--system", python], python)
        if found.returncode:
            say(f"Python {python}: not installed")
            continue
        for ends in ("lowest-direct", "highest"):
            start = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                said = _tried(found.stdout.strip(), ends, Path(folder) / "environment")
            took = f"{(time.monotonic() - start) / 60:.0f} minutes"
            say(f"Python {python}, {ends}: {said or 'works'} ({took})")
            failed |= bool(said) and not said.startswith(LEFT_OUT)
    if not pythons:
        _write(lines)
    return int(failed)


def _write(lines: Sequence[str]) -> None:
    """Put what was found, and the day, into its place on the page."""
    before, begins, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, ends, after = rest.partition(END)
    said = [
        f"`make compatible`, {datetime.now(UTC):%Y-%m-%d}:",
        "",
        *(f"- {each}" for each in lines),
    ]
    PAGE.write_text("\n".join([before + begins, *said, ends + after]), "utf-8")


def _tried(python: str, ends: str, environment: Path) -> str:
    """Return the step that failed in an environment of its own; nothing where all went well."""
    own = str(environment / "bin" / "python")
    wheels = os.environ.get("PIP_FIND_LINKS")  # pip's; uv reads none of its settings
    pip = ["pip", "install", "--python", own, *(["--find-links", wheels] if wheels else [])]
    # By itself and as the newest, which is the build for processors where there is one; what
    # pyproject.toml tells uv would leave it out.
    torch = [*UV, "--no-config", *pip, "--requirement", "requirements/torch.txt"]
    ours = ["--resolution", ends, "--editable", f".[{EXTRAS}]"]
    parts = [f"tests/{part}" for part in PARTS]
    steps = {
        "the environment": [*UV, "venv", "--quiet", "--python", python, str(environment)],
        "looking for torch": [*torch, "--dry-run"],
        "installing torch": [*torch, "--quiet"],
        "installing": [*UV, *pip, "--quiet", *ours],
        "installing the tests' tools": [*UV, *pip, "--quiet", *TESTED_BY],
        "the tests": [own, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", OURS, *parts],
        "the quick start": [own, "-m", "harness", "run", "config.yaml", "--limit", "20"],
    }
    for step, command in steps.items():
        done = _run(command)
        last = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        if done.returncode:
            return f"{step} failed\n  " + "\n  ".join(last[-8:])
        cuda = any(line.startswith(" + nvidia-") for line in last)
        if cuda and not os.environ.get("HARNESS_COMPATIBLE_CUDA"):
            return f"{LEFT_OUT}: torch is to be had with CUDA only"
    return ""


def _run(command: Sequence[str], python: str = "") -> subprocess.CompletedProcess[str]:
    chosen = {"PYENV_VERSION": python} if python else {}
    return subprocess.run(
        command, cwd=ROOT, check=False, capture_output=True, text=True, errors="replace",
        env={**os.environ, "HF_HUB_OFFLINE": "1", **chosen},
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
