"""A stored run, scored again: other metrics, or newer versions of them, and nothing re-run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from harness import replayed, report, rescorable, rewriting, scoring, store, stored_judge, summarise
from harness.batches import batched
from harness.cache import Cache
from harness.chat import ChatModel
from harness.errors import ModelError, RunError
from harness.kept import Scores
from harness.lines import cases, question, score_line
from harness.metrics import Asking
from harness.metrics import metrics as registry
from harness.numbers import count
from harness.oracle import again
from harness.oracle.file import read, text
from harness.oracle.scored import scored, tested_by
from harness.records import Sample, Score
from harness.runwriter import run_text
from harness.scoring import Named
from harness.store import StoredRun
from harness.stored import CellLine, OracleRecordLine, RecordLine, RunFile, ScoreLine
from harness.summing import Briefly

_BATCH = 256
"""Questions that are scored, and held in memory, at once."""
_PART = f".{store.RECORDS}-"


def rescore(
    folder: Path,
    metrics: Sequence[str] = (),
    judge: ChatModel | None = None,
    cache: Path | None = None,
) -> RunFile:
    """Score a stored run's answers and rankings by `metrics`, by default those it has.

    All scores are replaced, so that a report never mixes versions of a metric. `judge` is asked by
    metrics that ask one, by default the run's own; what it has said before is taken from the run
    where it was asked by the same prompt, and from `cache`.

    Raises:
        DataError: the folder holds no run, or a metric reads what the run did not store.
        HarnessError: the judge cannot be started.
        RunError: the judge gave up on what has a verdict; nothing is written.
    """
    run = _replaced(folder, metrics, judge, cache)
    report.write(folder)  # with nothing else of the run in memory
    return run


def _replaced(
    folder: Path, metrics: Sequence[str], judge: ChatModel | None, cache: Path | None
) -> RunFile:
    """Replace a run's scores on disk; returns what `run.json` says now."""
    stored = store.load(folder)
    labels = stored.run.provenance.labels
    level = int(stored.run.config["resolved"]["relevance_level"])
    questions = {id_: question(line) for id_, line in stored.questions.items()}
    told = read(stored)
    named = rescorable.built(stored, metrics, questions, labels, level)
    named = scoring.fitted(named, list(questions.values()), stored.run.provenance.seed)
    named = scoring.with_judge(named, judge or stored_judge.own_judge(stored))
    judges = [each.metric for each in named if isinstance(each.metric, Asking)]
    for metric in judges:
        _start(metric, named_again=judge is not None)
    lost = _Lost()
    with (
        Cache(cache) if judges and cache is not None else nullcontext() as kept,
        TemporaryFile("w+", encoding="utf-8", newline="\n", prefix=_PART, dir=folder) as file,
    ):
        judged = chain(replayed.answers_of(stored, questions), again.judged(told, questions))
        said = replayed.replies_of(stored, named, judged)
        keeper = replayed.Replayed(said, None if kept is None else Scores(kept))
        cells = _Cells(stored, named)
        for batch in batched(stored.records, _BATCH):
            sampled = [cases(line, questions[line.question], stored.texts) for line in batch]
            rows = scoring.score_sampled(named, sampled, labels, level, keeper)
            for record, row in zip(batch, rows, strict=True):
                anew = record.model_copy(update=_rescored(record, *row))
                lost.look(record, anew)
                cells.add(anew)
                file.write(f"{anew.model_dump_json()}\n")
        heard = scored(told, questions, named, labels, level, tested_by(stored.run), keeper)
        for old, new in zip(told, heard, strict=True):
            lost.look(old, new)
        lost.check()
        of_oracle = {
            "oracle": again.lines(stored, heard, named),
            "ceilings": again.ceilings(stored, questions),
        }
        run = _run(stored, named, cells.lines()).model_copy(update=of_oracle)
        file.seek(0)
        files: dict[str, Iterable[str]] = {store.RECORDS: file}
        if heard:
            files[store.ORACLE] = [text(heard)]
        files[store.RUN] = [run_text(run)]
        with rewriting.alone(folder):
            rewriting.replace(folder, files)
    return run


def _start(metric: Asking, named_again: bool) -> None:
    """Start a metric's judge; a run stores no folders, so a file of its own may not be found."""
    try:
        metric.check()
    except ModelError as error:
        if named_again:
            raise
        raise ModelError(f"{error}\n  name the run's judge again: --judge gguf:PATH") from None


_Scored = RecordLine | OracleRecordLine


class _Lost:
    """Which questions have lost a verdict that they had."""

    def __init__(self) -> None:
        self._why: dict[tuple[str, str], str] = {}

    def look(self, old: _Scored, new: _Scored) -> None:
        """Compare a record with what it was."""
        for had, found in zip(_scores(old), _scores(new), strict=True):
            for name, score in found.items():
                judged = name in had and had[name].state == "scored"
                if judged and score.state == "judge_failed":
                    self._why.setdefault((_asked_of(new), new.question), score.reason)

    def check(self) -> None:
        """Raise `RunError` where a judge gave up on what has a verdict."""
        if self._why:
            lost, reason = count(len(self._why), "question"), next(iter(self._why.values()))
            raise RunError(
                f"the judge gave up on {lost} with verdicts: {reason}\n"
                "  nothing was changed; try again later, or name another: --judge provider:model"
            )


def _asked_of(record: _Scored) -> str:
    """Return what a question was asked of."""
    return record.cell if isinstance(record, RecordLine) else f"{record.given}, {record.generator}"


def _scores(record: _Scored) -> list[Mapping[str, ScoreLine]]:
    """Return the scores of each sample, then those of the question."""
    samples = record.samples if isinstance(record, RecordLine) else []
    return [*(sample.scores for sample in samples), record.scores]


def _rescored(
    record: RecordLine, scores: Mapping[str, Score], samples: Sequence[Sample]
) -> dict[str, Any]:
    """Return what a record says of its scores; a sample's answer and usage stay."""
    lines = [
        line.model_copy(update={"scores": {n: score_line(each) for n, each in made.scores.items()}})
        for line, made in zip(record.samples, samples, strict=True)
    ]
    return {"scores": {n: score_line(each) for n, each in scores.items()}, "samples": lines}


class _Cells:
    """The cells' lines, each summed up with its last record; until then those are kept briefly."""

    def __init__(self, stored: StoredRun, named: Sequence[Named]) -> None:
        self._stored = stored
        self._named = named
        self._brief = Briefly()
        self._waiting: dict[str, list[RecordLine]] = {}
        self._updates: dict[str, dict[str, Any]] = {}

    def add(self, record: RecordLine) -> None:
        """Take the next record."""
        own = self._waiting.setdefault(record.cell, [])
        own.append(self._brief(record))
        if len(own) == len(self._stored.places(record.cell)):
            self._updates[record.cell] = self._summed(self._waiting.pop(record.cell))

    def lines(self) -> list[CellLine]:
        """Return each cell's line; one without records has scores of nothing."""
        return [
            cell.model_copy(update=self._updates.get(cell.name) or self._summed([]))
            for cell in self._stored.run.cells
        ]

    def _summed(self, records: Sequence[RecordLine]) -> dict[str, Any]:
        seed, clusters = self._stored.run.provenance.seed, self._stored.clusters
        return {
            "scores": summarise.aggregated(records, self._named, seed, clusters),
            "spread": summarise.spread(records),
        }


def _run(stored: StoredRun, named: Sequence[Named], cells: Sequence[CellLine]) -> RunFile:
    about = stored.run.provenance
    names = [each.name for each in named]
    others = [model for model in about.models if model["used_by"] not in set(registry)]
    return stored.run.model_copy(
        update={
            "cells": cells,
            "provenance": about.model_copy(
                update={
                    "metrics": summarise.described(named, about.labels),
                    "models": [*others, *summarise.models(named)],
                }
            ),
            "decide_by": rescorable.deciding(stored, named)[0],
            "targets": {k: v for k, v in stored.run.targets.items() if k in names},
        }
    )
