"""Golden files: what commands print and store, held against what they printed and stored before.

Numbers lie in `golden/NAME.json` and texts in `golden/NAME.txt`. HARNESS_TEST_GOLDEN=write writes
both anew, in place of comparing. HARNESS_TEST_FULL=1 adds the runs that take minutes, of which the
means alone are kept. `make golden` sets both, and `make golden-check` the second alone.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"
WRITES = os.environ.get("HARNESS_TEST_GOLDEN") == "write"
MASKS = (
    (r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?( ?(Z|UTC|[+-]\d{2}:\d{2}))?", "<time>"),
    (r"\b\d{8}T?-?\d{6}Z?(-[0-9a-z]+)*", "<run>"),
    (r"\b\d{4}-\d{2}-\d{2}\b", "<day>"),
    (r"\b[0-9a-f]{8,64}\b", "<hash>"),
    (r"\b\d+(\.\d+)? ?(ms|s|min|h|hours?|minutes?|seconds?)\b", "<duration>"),
    (r"\b\d+(\.\d+)? ?(bytes|B|KB|MB|GB|TB)\b", "<size>"),
    (r"127\.0\.0\.1:\d+", "<server>"),
    (r"\b\d+\.\d+\.\d+\w*(\+\w+)?\b", "<version>"),
)
SCORE_KEYS = ("mean", "low", "high", "n", "failed", "not_scored")


def mask(text: str, *folders: Path) -> str:
    """Replace what differs between two runs of one command: times, ids, versions and paths."""
    for folder in sorted({str(folder) for folder in folders}, key=len, reverse=True):
        text = text.replace(folder, "<folder>")
    for pattern, name in MASKS:
        text = re.sub(pattern, name, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def run_folder(project: Path) -> Path:
    """Return the newest stored run below `project`."""
    return max(project.glob("reports/*/run.json"), key=lambda path: path.stat().st_mtime_ns).parent


def run_numbers(folder: Path, *, hits: bool = True) -> dict[str, object]:
    """Return the numbers of a stored run: aggregates by cell, then hits and scores by question."""
    run = json.loads((folder / "run.json").read_text("utf-8"))
    cells = {
        cell["name"]: {
            name: [score.get(key) for key in SCORE_KEYS] for name, score in cell["scores"].items()
        }
        for cell in run["cells"]
    }
    records = []
    for line in (folder / "records.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        scores = {name: score.get("value") for name, score in record.get("scores", {}).items()}
        row = [record["cell"], record["question"], scores, record.get("lost_at")]
        if hits:
            row.append([[hit["doc"], hit["start"], hit["end"]] for hit in record.get("hits", [])])
        records.append(row)
    order = {name: number for number, name in enumerate(cells)}
    records.sort(key=lambda row: (order[row[0]], row[1]))
    return {"cells": cells, "records": [[order[row[0]], *row[1:]] for row in records]}


def check_numbers(name: str, numbers: object, tolerance: float = 1e-9) -> None:
    """Hold numbers against `golden/NAME.json`; `tolerance` is absolute, and relative above 1."""
    path = FOLDER / f"{name}.json"
    numbers = json.loads(json.dumps(numbers, allow_nan=False))
    if WRITES:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps(numbers, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8"
        )
        return
    differences = list(_differences(json.loads(path.read_text("utf-8")), numbers, tolerance, "$"))
    assert not differences, "\n".join(differences[:20])


def check_text(name: str, text: str, *folders: Path) -> None:
    """Hold a text, masked, against `golden/NAME.txt`."""
    path = FOLDER / f"{name}.txt"
    text = mask(text, *folders)
    if WRITES:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


def check_section(name: str, section: str, text: str, *folders: Path) -> None:
    """Hold a text, masked, against its section of `golden/NAME.txt`, one file for many texts.

    They are written by one process at a time only: `-p no:xdist`.
    """
    path = FOLDER / f"{name}.txt"
    text = mask(text, *folders)
    if WRITES:
        parts = sections(name) | {section: text}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"=== {key}\n{parts[key]}" for key in sorted(parts)), "utf-8")
    assert text == sections(name).get(section, "")


def sections(name: str) -> dict[str, str]:
    """Return the sections of `golden/NAME.txt`; none where there is no such file."""
    path = FOLDER / f"{name}.txt"
    text = path.read_text("utf-8") if path.exists() else ""
    _, *parts = re.split(r"^=== (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _differences(expected: object, actual: object, tolerance: float, place: str) -> Iterable[str]:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key in sorted({*expected, *actual}):
            if key not in expected or key not in actual:
                yield f"{place}.{key}: only {'before' if key in expected else 'now'}"
            else:
                yield from _differences(expected[key], actual[key], tolerance, f"{place}.{key}")
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            yield f"{place}: {len(expected)} entries before, {len(actual)} now"
        for number, pair in enumerate(zip(expected, actual, strict=False)):
            yield from _differences(*pair, tolerance, f"{place}[{number}]")
    elif _is_number(expected) and _is_number(actual):
        if not math.isclose(expected, actual, rel_tol=tolerance, abs_tol=tolerance):  # type: ignore[arg-type]
            yield f"{place}: {expected!r} before, {actual!r} now"
    elif expected != actual:
        yield f"{place}: {expected!r} before, {actual!r} now"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
