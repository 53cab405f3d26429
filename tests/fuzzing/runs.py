"""Stored runs that somebody wrote to do harm: mutated behind their checksums, and read by verbs."""

from __future__ import annotations

import csv
import json
import random
import re
import resource
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import damage, small
from tests.support.harmed_runs import Harmed, call

MARKUP = "<img src=x onerror=canary()>"
ESCAPE = "\x1b[31mcanary\x07"
AWAY = "escaped"
STRINGS = (
    "", " ", MARKUP, f'"></script><script>canary()</script>{MARKUP}', f"](x){MARKUP}", ESCAPE,
    f"a\n{MARKUP}\n# b", f"a\n```\n{MARKUP}", f"../../../{AWAY}", f"/tmp/{AWAY}", "..",
    "a/b", "a\0b", "\u202ebca", "x" * 50_000, "|" * 300, "{{ 7 * 7 }}{% raw %}", "\ud800", "=1+1",
    "--help", "-", "none", "é" * 300, "q1", "main", "recall@0", "ndcg@99999999999999999999",
    "token_f1@t", "python:os.system", "9" * 5000, "2026-99-99", "0001-01-01T00:00:00Z", "'; DROP",
    "9999-12-31T23:59:59+14:00",
)  # fmt: skip
NUMBERS = (
    0, -1, 1, 2**31, 2**63, -(2**64), 10**400, 1e308, -1e308, 5e-324, -0.0, 0.5, 1.0000001, 1e18,
    float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
VALUES = (*STRINGS, *NUMBERS, None, True, False, [], {}, [None], [[[]]], {"a": 1}, [1] * 3000)
FILES = (
    "run.json", "run.json", "records.jsonl", "records.jsonl", "questions.jsonl", "texts.jsonl",
    "documents.jsonl", "oracle.jsonl", "ratings.jsonl", "report.json", "form",
    "baseline",
)  # fmt: skip
PATIENCE = 60
_FENCED = re.compile(r"^(`{3,}|~{3,})[^`\n]*\n.*?^\1[`~]*$", re.MULTILINE | re.DOTALL)
_NO_NUMBER = re.compile(r"(?<![\w.])-?(?:nan|inf|infinity)(?![\w.])", re.IGNORECASE)


class Hostile:
    """A run with every file that there can be, and all that reads one."""

    def __init__(self, folder: Path, run: str, verbs: Sequence[tuple[str, ...]]) -> None:
        self.folder = folder
        self.run = run
        self.verbs = verbs
        self.whole = damage.files(folder)

    @classmethod
    def whole_project(cls, folder: Path) -> Hostile:
        """Return one of every file and every verb."""
        made = Harmed(folder)
        run, other = made.run, "runs/20260101-000000-aaaaaa"
        more = (
            ("compare", run, "--out", "pages"),
            ("compare", run, other, "--json", "--allow", "testset", "--allow", "metrics"),
            ("export", "trec", run, "-o", "trec"),
            ("export", "parquet", run, "-o", "out.parquet"),
            ("export", "triplets", run, "-o", "triplets.jsonl"),
            ("gate", run, "--baseline", "main", "--json", "--junit", "junit.xml"),
            ("rate", run, "-o", "form.html", "--n", "3"),
            ("pool", run, other, "-o", "pool.csv", "--k", "2"),
            ("pool", run, "-o", "pool.jsonl"),
            ("baseline", "ls"),
        )
        return cls(folder, run, (*made.verbs, *more))

    @classmethod
    def small_project(cls, folder: Path) -> Hostile:
        """Return a run of one cell, and the verbs that are quick."""
        made = small.stored(folder, chunkers=["markdown"], retrievers=["bm25"])
        run = made.folder.relative_to(folder).as_posix()
        verbs = (
            ("report", run),
            ("history", "reports", "--json"),
            ("export", "csv", run, "-o", "out.csv"),
            ("export", "trec", run, "-o", "trec"),
            ("rate", run, "-o", "form.html", "--n", "3"),
            ("pool", run, "-o", "pool.jsonl"),
        )
        return cls(folder, run, verbs)

    def fuzzed(self, times: int, seed: int, start: int = 0) -> list[str]:
        """Read so many mutated runs, each by one verb; return what was broken, in words."""
        return [said for case in range(start, start + times) for said in self._case(seed, case)]

    def _case(self, seed: int, case: int) -> Iterator[str]:
        draw = random.Random(f"{seed} {case}")
        how = [self._mutated(draw) for _ in range(draw.choice([1, 1, 1, 2, 3]))]
        (self.folder / self.run / "sums.json").unlink(missing_ok=True)
        verb = draw.choice(self.verbs)
        before = damage.files(self.folder)
        try:
            with _patience():
                problem = self._wrong(verb, before)
        except TimeoutError:
            problem = f"takes more than {PATIENCE} s"
        damage.restored(self.folder, self.whole)
        if problem:
            yield f"seed {seed}, case {case} ({'; '.join(how)}), {' '.join(verb)}: {problem}"

    def _mutated(self, draw: random.Random) -> str:
        name = draw.choice(FILES)
        path = self._path(name)
        if not path.is_file():
            return "nothing"
        if draw.random() < 0.04:
            path.unlink()
            return f"{name} is gone"
        if draw.random() < 0.3:
            return self._everywhere(draw, path)
        lines = path.read_text("utf-8").splitlines() if path.suffix == ".jsonl" else None
        row = draw.randrange(len(lines)) if lines else 0
        data = json.loads(lines[row]) if lines else json.loads(path.read_text("utf-8") or "{}")
        data, how = _changed(data, draw)
        if not lines and isinstance(data, dict):
            data.pop("sum", None)
        if lines:
            lines[row] = json.dumps(data)
            lines += lines[row : row + 1] * draw.choice([0, 0, 0, 1])
        path.write_text("\n".join(lines) + "\n" if lines else json.dumps(data), "utf-8")
        return f"{name}, line {row + 1}: {how}"

    def _path(self, name: str) -> Path:
        run = self.folder / self.run
        if name == "baseline":
            return self.folder / "baselines" / "main.json"
        return next((run / "forms").glob("*.json"), run) if name == "form" else run / name

    def _everywhere(self, draw: random.Random, path: Path) -> str:
        """Replace a text wherever it stands in the run, so that its files go on agreeing."""
        texts = sorted({each for each in _texts(path) if each})
        if not texts:
            return "nothing"
        old, new = draw.choice(texts), draw.choice(STRINGS)
        for file in (self.folder / self.run).rglob("*.json*"):
            content = file.read_text("utf-8")
            file.write_text(content.replace(json.dumps(old), json.dumps(new)), "utf-8")
        return f"{old[:80]!a} is {new[:80]!a} everywhere"

    def _wrong(self, verb: tuple[str, ...], before: dict[str, bytes]) -> str:
        said = call(self.folder, *verb)
        if said.status not in (0, 2, 3) and not (said.status == 1 and verb[0] == "gate"):
            return f"status {said.status}: {said.err[-300:]!a}"
        if said.status in (2, 3) and not said.err.strip() and verb[0] != "gate":
            return f"status {said.status} without a word"
        if "\x1b" in said.out + said.err:
            return "an escape sequence reaches the terminal"
        after = damage.files(self.folder)
        made = {name: raw for name, raw in after.items() if before.get(name) != raw}
        if away := self._away(made, verb):
            return f"written outside what was asked for: {away}"
        if "--json" in verb and said.status == 0 and _NO_NUMBER.search(_bare(said.out)):
            return f"no number in {said.out[:300]!a}"
        return next(filter(None, (_harmful(name, raw) for name, raw in made.items())), "")

    def _away(self, made: dict[str, bytes], verb: tuple[str, ...]) -> list[str]:
        asked: tuple[str, ...] = (self.run, "runs/", "reports/", "cache/", "baselines/")
        asked += tuple(
            verb[at + 1] for at, each in enumerate(verb) if each in ("-o", "--out", "--junit")
        )
        found = [name for name in made if not name.startswith(asked)]
        places = (Path("/tmp"), *list(self.folder.parents)[:3])
        return found + [str(each) for each in places if (each / AWAY).exists()]


def _changed(data: Any, draw: random.Random) -> tuple[Any, str]:
    """Return `data` with something of it changed, at any depth, and what that was."""
    places = list(_places(data))
    if not places:
        return draw.choice(VALUES), "replaced"
    holder, key = draw.choice(places)
    what = draw.random()
    if what < 0.1:
        del holder[key]
        return data, f"{key!a:.60} taken out"
    if what < 0.2 and isinstance(holder, dict):
        holder[draw.choice(STRINGS)] = draw.choice(VALUES)
        return data, "a key more"
    old = holder[key]
    alike = NUMBERS if isinstance(old, int | float) else STRINGS if isinstance(old, str) else VALUES
    holder[key] = draw.choice(alike if draw.random() < 0.7 else VALUES)
    return data, f"{key!a:.60} is {holder[key]!a:.80}"


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    items = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for key, value in items:
        yield data, key
        yield from _places(value)


def _texts(path: Path) -> Iterator[str]:
    lines = (
        path.read_text("utf-8").splitlines()
        if path.suffix == ".jsonl"
        else [path.read_text("utf-8")]
    )
    for line in lines:
        data = json.loads(line or "{}")
        for holder, key in _places(data):
            yield from (each for each in (key, holder[key]) if isinstance(each, str))


def _harmful(name: str, raw: bytes) -> str:
    """Return what a file that a verb wrote would do to whoever opens it."""
    text = raw.decode("utf-8", "replace")
    if name.endswith(".md"):
        text = _FENCED.sub("", text)
    if name.endswith((".html", ".md")) and MARKUP in text:
        return f"{name} holds markup of the run's at {text.index(MARKUP)}: {_around(text, MARKUP)}"
    if name.endswith(".md") and (found := _NO_NUMBER.search(_bare(text))):
        return f"{name} holds {found[0]}"
    if name.endswith(".json"):
        json.loads(text, parse_constant=_refused)
    if name.endswith("out.csv"):
        for row in csv.reader(text.splitlines()):
            if any(_NO_NUMBER.fullmatch(each) for each in row):
                return f"{name} holds {row}"
    return ""


def _refused(constant: str) -> None:
    raise ValueError(f"a JSON file holds {constant}")


def _bare(text: str) -> str:
    """Return JSON or Markdown without what stands in quotes."""
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)


def _around(text: str, part: str) -> str:
    at = text.index(part)
    return ascii(text[max(0, at - 80) : at + 80])


@contextmanager
def _patience() -> Iterator[None]:
    def late(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def memory() -> int:
    """Return the most memory that this process has had, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
