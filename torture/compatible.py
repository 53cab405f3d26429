"""The oldest and the newest libraries that are allowed, on every Python that is installed.

python -m torture.compatible            # `make compatible`; status 1 where anything fails
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
EXTRAS = "offline,fast,frames,openai,local-llm,static,documents,parquet"
TESTED_BY = ("pytest", "hypothesis", "jsonschema", "ir-measures", "pytrec-eval-terrier")
TESTED_BY += ("playwright", "axe-playwright-python", "scipy")
PARTS = ("chat_hosted", "chroma_server", "chunkers_recursive", "cli", "documents_formats")
PARTS += ("embedders", "embedders_langchain", "existing", "facts", "foreign_systems", "index")
PARTS += ("library", "report", "rerankers", "run")
OURS = "filterwarnings=default\nerror:::harness"
"""Old libraries warn of newer ones; warnings from our own code are errors."""


def main() -> int:
    """Say of each Python and each end of what is allowed whether it works."""
    failed = False
    for python in PYTHONS:
        found = shutil.which(f"python{python}")
        if found is None:
            print(f"Python {python}: not installed", flush=True)
            continue
        for ends in ("lowest-direct", "highest"):
            with tempfile.TemporaryDirectory() as folder:
                said = _tried(found, ends, Path(folder) / "environment")
            print(f"Python {python}, {ends}: {said or 'works'}", flush=True)
            failed |= bool(said)
    return int(failed)


def _tried(python: str, ends: str, environment: Path) -> str:
    """Return the step that failed in an environment of its own; nothing where all went well."""
    own = str(environment / "bin" / "python")
    uv = [sys.executable, "-m", "uv"]
    pip = [*uv, "pip", "install", "--quiet", "--python", own]
    torch = ["--override", str(ROOT / "requirements" / "torch.txt")]
    parts = [f"tests/test_{part}.py" for part in PARTS]
    steps = {
        "the environment": [*uv, "venv", "--quiet", "--python", python, str(environment)],
        "installing": [*pip, "--resolution", ends, *torch, "--editable", f".[{EXTRAS}]"],
        "installing the tests' tools": [*pip, *TESTED_BY],
        "the tests": [own, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", OURS, *parts],
        "the quick start": [own, "-m", "harness", "run", "config.yaml", "--limit", "20"],
    }
    for step, command in steps.items():
        done = subprocess.run(
            command, cwd=ROOT, check=False, capture_output=True, text=True, errors="replace",
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )  # fmt: skip
        if done.returncode:
            last = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            return f"{step} failed\n  " + "\n  ".join(last[-8:])
    return ""


if __name__ == "__main__":
    sys.exit(main())
