"""The same run again under another hash seed, thread count, language, time zone and folder."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from tests.support.kills import content, first_difference

EXACT = ("records.jsonl", "questions.jsonl", "texts.jsonl")
"""The files whose rows are the same byte for byte but for their times."""
SURROUNDINGS = (
    {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"},
    {"OMP_NUM_THREADS": "2", "PYTHONHASHSEED": "4711", "LC_ALL": "C", "TZ": "Asia/Kolkata"},
    {"OMP_NUM_THREADS": "3", "PYTHONHASHSEED": "random", "LC_ALL": "POSIX", "TZ": "America/Lima"},
)
_NUMBER = r"[\d,.]+"
_TIMED = re.compile(r"^## (Curves and trade-offs|Time and tokens)\n.*?(?=^## )", re.M | re.S)
"""What a page says of latency, and which cell is the best for it."""
_ASIDE = (
    (r"\d{8}-\d{6}-[0-9a-f]{6}", "RUN"),
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\S*\d\d:\S*\d\d( UTC|Z|\+00:00)?", "TIME"),
    (rf"(under )?{_NUMBER} (s|ms|µs|min|h|seconds?|minutes?)\b", "SECONDS"),
    (r"texts\\?_per\\?_second \([^)]*\)", "SPEED"),
    (rf"{_NUMBER} (texts|chunks|questions|answers)(/s| per second| a second)", "SPEED"),
)
"""What a page says of a run's own name, its times and its speed."""


def run(folder: Path, surroundings: dict[str, str]) -> Path:
    """Run the project in `folder`, warnings being errors; return the folder of its report."""
    threads = surroundings["OMP_NUM_THREADS"]
    more = {f"{library}_NUM_THREADS": threads for library in ("MKL", "OPENBLAS", "RAYON")}
    place = {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, "-m", "harness", "run", "config.yaml"],
        cwd=folder,
        env={**os.environ, **more, **surroundings, **place},
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr
    (found,) = (path.parent for path in (folder / "reports").glob("*/run.json"))
    return found


def reordered(config: Path) -> None:
    """Turn round every list that spans the grid."""
    found = yaml.safe_load(config.read_text("utf-8"))
    for family in ("chunkers", "embedders", "retrievers", "rerankers", "generators"):
        found[family] = found[family][::-1] if family in found else []
    found = {key: value for key, value in found.items() if value != []}
    config.write_text(yaml.safe_dump(found), "utf-8")


def differences(one: Path, other: Path) -> list[str]:
    """Return what two report folders say otherwise, their names, times and speeds aside."""
    found = [
        f"{name}: {first_difference(content(one / name), content(other / name))}"
        for name in (*EXACT, "run.json")
        if json.dumps(content(one / name)) != json.dumps(content(other / name))
    ]
    pages = [_page(folder / "report.md") for folder in (one, other)]
    lines = list(zip(*(page.splitlines() for page in pages), strict=False))
    if pages[0] != pages[1]:
        unlike = next((pair for pair in lines if pair[0] != pair[1]), "one is longer")
        found.append(f"report.md: {unlike}")
    names = [
        sorted(str(path.relative_to(each)) for path in each.rglob("*")) for each in (one, other)
    ]
    return found if names[0] == names[1] else [*found, f"other files: {names}"]


def scored_otherwise(one: Path, other: Path) -> list[str]:
    """Return the records in which two runs of the same cells, in any order, do not agree."""
    mine, theirs = ({_key(row): row for row in content(each / EXACT[0])} for each in (one, other))
    if mine.keys() != theirs.keys():
        return [f"other records: {sorted(mine.keys() ^ theirs.keys())[:3]}"]
    return [
        f"{key}: {first_difference(row, theirs[key])}"
        for key, row in mine.items()
        if row != theirs[key]
    ]


def _key(row: dict) -> str:
    return json.dumps([row["cell"], row["question"]])


def _page(path: Path) -> str:
    text = _TIMED.sub("", path.read_text("utf-8"))
    for pattern, name in _ASIDE:
        text = re.sub(pattern, name, text)
    return text
