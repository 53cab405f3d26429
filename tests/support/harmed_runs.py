"""A stored run with one file harmed: each verb says so, or gives the numbers of the whole run."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import api
from harness.cli import main
from tests.support import damage, rated, small

DATA = (
    "run.json", "records.jsonl", "questions.jsonl", "texts.jsonl", "documents.jsonl",
    "oracle.jsonl", "ratings.jsonl", "sums.json",
)  # fmt: skip
BESIDE = ("report.json", "form", "baseline")
READERS = {"form": ("import",), "baseline": ("main",), "report.json": ("report", "history")}
"""What a verb that reads the file has among its arguments, where not every verb does."""
_GATE = {"fail_if": {"metric": "hit_rate@2", "drop_more_than": 0.1}, "min": {"token_f1": 0.01}}
SAYS = (
    "damaged",
    "not as it was",
    "is not there",
    "cannot be read",
    "is no ",
    "not JSON",
    "Is a directory",
)


@dataclass(frozen=True)
class Said:
    """What a verb said, or what escaped it."""

    status: int
    out: str
    err: str


def call(folder: Path, *arguments: str) -> Said:
    """Run the command line in this process, in a folder; an error that escapes is status -1."""
    out, err = io.StringIO(), io.StringIO()
    before = os.getcwd(), sys.argv
    os.chdir(folder)
    sys.argv = ["harness", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception as error:  # noqa: BLE001  whatever escapes is what is looked for
        status = -1
        err.write(repr(error)[:300])
    finally:
        os.chdir(before[0])
        sys.argv = before[1]
    return Said(status, out.getvalue(), err.getvalue())


class Harmed:
    """One run with all the files that a run can have, a second one, a baseline, and the verbs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "corpus").mkdir(parents=True)
        page = "<html><body><h1>Tolls</h1><p>The tunnel costs 3 dollars.</p></body></html>"
        (folder / "corpus" / "tolls.html").write_text(page, encoding="utf-8")
        made = small.stored(folder, chunkers=["markdown"], oracle=True, gate=_GATE)
        assert call(folder, "rate", str(made.folder), "--n", "2").status == 0
        (key,) = (made.folder / "forms").glob("*.json")
        items = [rated.item(each["item"], 2) for each in json.loads(key.read_bytes())["items"]]
        rated.saved(folder / "said.json", items, form_=key.stem)
        api.import_ratings([folder / "said.json"], made.folder)
        self.form = f"forms/{key.name}"
        (folder / "reports" / "index.html").unlink()
        (folder / "reports").rename(folder / "runs")
        (folder / "runs" / made.folder.name).rename(folder / "runs" / "20260101-000000-aaaaaa")
        shutil.copytree(
            folder / "runs" / "20260101-000000-aaaaaa", folder / "runs" / "20260101-000001-bbbbbb"
        )
        self.run = "runs/20260101-000001-bbbbbb"
        assert call(folder, "baseline", "set", self.run, "--name", "main", "--force").status == 0
        self.verbs: Sequence[tuple[str, ...]] = (
            ("report", self.run),
            ("compare", "runs/20260101-000000-aaaaaa", self.run, "--json"),
            ("compare", "main", self.run, "--json"),
            ("history", "runs", "--json"),
            ("score", self.run, "--json"),
            ("export", "csv", self.run, "-o", "out.csv"),
            ("gate", self.run, "--baseline", "main"),
            ("baseline", "show", "main"),
            ("baseline", "set", self.run, "--name", "again", "--force"),
            ("import", "ratings", "said.json", "--run", self.run),
        )
        self.whole = damage.files(folder)
        self.wanted = {verb: self._numbers(verb) for verb in self.verbs}

    def path(self, name: str) -> str:
        """Return the path of an artefact below the folder."""
        named = {"baseline": "baselines/main.json", "form": f"{self.run}/{self.form}"}
        return named.get(name, f"{self.run}/{name}")

    def harm(self, name: str, times: int, seed: int, verbs: int = 1) -> list[str]:
        """Harm one file so many times; return each promise that was broken, in words."""
        draw = random.Random(f"{name} {seed}")
        broken = []
        path = self.path(name)
        among = [verb for verb in self.verbs if name not in READERS or {*verb} & {*READERS[name]}]
        for case in range(times):
            how, content = damage.harmed(self.whole[path], draw)
            for verb in draw.sample(among, verbs):
                target = self.folder / path
                if content is None:
                    damage.into_folder(target)
                else:
                    target.write_bytes(content)
                wrong = self._wrong(verb, name)
                if wrong:
                    broken.append(f"{name}, seed {seed}, case {case} ({how}), {verb}: {wrong}")
                damage.restored(self.folder, self.whole)
        return broken

    def _wrong(self, verb: tuple[str, ...], name: str) -> str:
        said, numbers = self._said(verb)
        if said.status in (2, 3) and any(each in said.err for each in SAYS):
            return "" if "\n" in said.err.strip() else f"no remedy: {said.err}"
        if (said.status, numbers) == self.wanted[verb]:
            return ""
        if any(each in said.out + said.err for each in SAYS) and said.status in (0, 1, 2, 3):
            return ""
        return f"status {said.status}, {said.err[-300:] or 'other numbers'}"

    def _said(self, verb: tuple[str, ...]) -> tuple[Said, str]:
        said = call(self.folder, *verb)
        files = {"report": f"{self.run}/report.md", "export": "out.csv"}
        path = self.folder / files.get(verb[0], "")
        return said, path.read_text("utf-8") if path.is_file() else said.out

    def _numbers(self, verb: tuple[str, ...]) -> tuple[int, str]:
        said, numbers = self._said(verb)
        assert said.status in (0, 1), (verb, said)
        damage.restored(self.folder, self.whole)
        return said.status, numbers
