"""Runs to be compared: with scores that a test chose, as a side or as a folder."""

import json
from dataclasses import replace
from pathlib import Path

from harness.comparison import operand
from harness.records import StoredHit
from harness.store.outcome_file import OUTCOME_FORMAT
from harness.store.reader import QUESTION_FORMAT, QUESTIONS, RECORDS, RUN, TEXTS, StoredRun
from harness.store.run_file import RUN_FORMAT
from tests.support.runs_made import stored


def run(scores, id_="new", categories=(), texts=None, status="finished", about=None, **more):
    """Return a stored run; `scores` and `more` are those of `stored`.

    `categories` gives one a question, `texts` replaces fields of questions by id, and `about`
    fields of the provenance.
    """
    made = stored(scores, **more)
    provenance = replace(made.run.provenance, **({"corpus": {"hash": "c"}} | (about or {})))
    file = replace(made.run, id=id_, status=status, provenance=provenance, started="2026-11-21")
    questions = {
        key: replace(line, **({"category": category} | (texts or {}).get(key, {})))
        for (key, line), category in zip(
            made.questions.items(), [*categories, *[None] * len(made.questions)], strict=False
        )
    }
    return replace(made, run=file, questions=questions)


def side(scores, id_="new", **more):
    """Return one side of a comparison; arguments as of `run`."""
    return operand.operand_from_run(run(scores, id_, **more))


def without(made: StoredRun, *ids: str) -> StoredRun:
    """Return a run that did not ask some questions."""
    kept = {key: line for key, line in made.questions.items() if key not in ids}
    records = tuple(record for record in made.records if record.question in kept)
    return replace(made, questions=kept, records=records)


def told(made: StoredRun, answer: str, doc: str, text: str) -> StoredRun:
    """Return a run in which every question was answered so, from one hit of such a document."""
    hit = StoredHit(doc=doc, start=0, end=5, score=1.0, grade=1)
    records = tuple(replace(record, answer=answer, hits=(hit,)) for record in made.records)
    return replace(made, records=records, texts={(doc, 0, 5): text})


def written(made: StoredRun, folder: Path) -> Path:
    """Write a run as a folder; return it."""
    folder.mkdir(parents=True)
    texts = [
        {"doc": doc, "start": start, "end": end, "text": text}
        for (doc, start, end), text in made.texts.items()
    ]
    (folder / RUN).write_text(RUN_FORMAT.text(made.run), encoding="utf-8")
    _lines(folder / RECORDS, map(OUTCOME_FORMAT.line, made.records))
    _lines(folder / QUESTIONS, map(QUESTION_FORMAT.line, made.questions.values()))
    _lines(folder / TEXTS, [json.dumps(each) + "\n" for each in texts])
    return folder


def _lines(path: Path, lines: list[str]) -> None:
    path.write_text("".join(lines), encoding="utf-8")
