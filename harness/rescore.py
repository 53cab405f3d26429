"""A stored run, scored again: other metrics, or newer versions of them, and nothing re-run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from harness import replayed, report, rewriting, scoring, store, summarise
from harness.cache import Cache
from harness.chat import ChatModel
from harness.errors import (
    DataError,
    HarnessError,
    ModelError,
    Problem,
    RunError,
    SpecError,
    suggest,
)
from harness.kept import Scores
from harness.labels import has
from harness.lines import cases, question, score_line
from harness.metrics import Asking
from harness.metrics import metrics as registry
from harness.numbers import count
from harness.oracle import again
from harness.oracle.file import read, text
from harness.oracle.scored import scored, tested_by
from harness.reach import Reach, allowed
from harness.records import Case, Label, Sample, Score
from harness.scoring import GOLD, Named, label_of, leaves, within_chunker
from harness.store import StoredRun
from harness.stored import OracleRecordLine, RecordLine, RunFile, ScoreLine

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


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
    stored = store.load(folder)
    labels = stored.run.provenance.labels
    level = int(stored.run.config["resolved"]["relevance_level"])
    questions = {id_: question(line) for id_, line in stored.questions.items()}
    sampled = [cases(line, questions[line.question], stored.texts) for line in stored.records]
    told = read(stored)
    named = _built(stored, metrics, [some[0] for some in sampled], labels, level)
    named = scoring.fitted(named, list(questions.values()), stored.run.provenance.seed)
    named = scoring.with_judge(named, judge or _own_judge(stored))
    judges = [each.metric for each in named if isinstance(each.metric, Asking)]
    for metric in judges:
        _start(metric, named_again=judge is not None)
    with Cache(cache) if judges and cache is not None else nullcontext() as kept:
        judged = [*replayed.answers_of(stored.records, sampled), *again.judged(told, questions)]
        said = replayed.replies_of(stored, named, judged)
        keeper = replayed.Replayed(said, None if kept is None else Scores(kept))
        rows = scoring.score_sampled(named, sampled, labels, level, keeper)
        test = tested_by(stored.run)
        heard = scored(told, questions, named, labels, level, test, keeper)
    records = [
        record.model_copy(update=_rescored(record, *row))
        for record, row in zip(stored.records, rows, strict=True)
    ]
    _check_kept(chain(stored.records, told), chain(records, heard))
    of_oracle = {
        "oracle": again.lines(stored, heard, named),
        "ceilings": again.ceilings(stored, questions),
    }
    run = _run(stored, named, records).model_copy(update=of_oracle)
    told_anew = {store.ORACLE: [text(heard)]} if heard else {}
    lines = (f"{line.model_dump_json()}\n" for line in records)
    with rewriting.alone(folder):
        files = {store.RECORDS: lines, **told_anew, store.RUN: [store.run_text(run)]}
        rewriting.replace(folder, files)
    report.write(folder)
    return run


def judge_of(value: Any) -> ChatModel:
    """Return the chat model that a name, or a mapping of settings, describes.

    Raises:
        ValueError: it is neither, or a setting is not allowed.
    """
    given = {"model": value} if isinstance(value, str) else value
    if not isinstance(given, Mapping):
        raise ValueError("expected a model's name or its settings, found another kind of value")
    known = [each.name for each in fields(ChatModel)]
    for key in map(str, given):
        if key not in known:
            raise ValueError(f"a chat model has no {key!r}; {suggest(key, known)}")
    try:
        return TypeAdapter(ChatModel).validate_python(given)
    except ValidationError as error:
        said = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, said['loc']))}: {said['msg']}") from None


def _own_judge(stored: StoredRun) -> ChatModel | None:
    """Return the judge of the run's configuration."""
    given = stored.run.config["resolved"].get("judge")
    if given is None:
        return None
    judge = judge_of(given)
    _check_judge(judge, stored.folder)
    return replace(judge, seed=stored.run.provenance.seed) if judge.seed is None else judge


def _check_judge(judge: ChatModel, folder: Path) -> None:
    """Raise `HarnessError` for a judge whose server or file a stored run may not choose.

    A key of the environment is sent to the server, so that is not for a stranger's run to name.
    """
    server = urlsplit(judge.base_url or "http://localhost").hostname or ""
    if server not in _LOOPBACK:
        raise HarnessError(
            f"{folder}: its judge is at {server}, and a stored run cannot choose whom keys are "
            "sent to\n  name it again: --judge '{model: provider:name, base_url: https://...}'"
        )
    if judge.file is not None:
        _check_within(judge.file, folder)


def _check_within(spec: Any, folder: Path) -> None:
    """Raise `HarnessError` where what a stored run names is a folder or file out of the project."""
    reach = Reach(folder, anywhere=allowed(os.environ))
    try:
        if isinstance(spec, str) and Path(spec).is_file():
            reach.check(spec)
        reach.check_models(spec)
    except SpecError as error:
        raise HarnessError(f"{folder}: {error.what}\n  name the metrics: -m METRIC") from None


def _start(metric: Asking, named_again: bool) -> None:
    """Start a metric's judge; a run stores no folders, so a file of its own may not be found."""
    try:
        metric.check()
    except ModelError as error:
        if named_again:
            raise
        raise ModelError(f"{error}\n  name the run's judge again: --judge gguf:PATH") from None


_Scored = RecordLine | OracleRecordLine


def _check_kept(before: Iterable[_Scored], after: Iterable[_Scored]) -> None:
    """Raise `RunError` where a judge gave up on what has a verdict."""
    lost: dict[tuple[str, str], str] = {}
    for old, new in zip(before, after, strict=True):
        for had, found in zip(_scores(old), _scores(new), strict=True):
            for name, score in found.items():
                judged = name in had and had[name].state == "scored"
                if judged and score.state == "judge_failed":
                    lost.setdefault((_asked_of(new), new.question), score.reason)
    if lost:
        reason = next(iter(lost.values()))
        raise RunError(
            f"the judge gave up on {count(len(lost), 'question')} with verdicts: {reason}\n"
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


def _built(
    stored: StoredRun, metrics: Sequence[str], cases: Sequence[Case], labels: Label, level: int
) -> list[Named]:
    """Return the metrics asked for; raises `DataError` with all that is wrong with them."""
    specs = dict(zip(metrics, metrics, strict=True)) or {
        name: line.spec for name, line in stored.run.provenance.metrics.items()
    }
    if not metrics:
        _check_within(list(specs.values()), stored.folder)
    retrieve = int(stored.run.config["resolved"]["retrieve"])
    named: list[Named] = []
    problems: list[Problem] = []
    for name, spec in specs.items():
        try:
            each = Named(name, scoring.build(spec, labels, level).metric)
        except SpecError as error:
            problems.append(Problem(name, error.what, error.hint))
            continue
        missing = dict.fromkeys(_missing(each, cases, labels, retrieve))
        problems += [Problem(name, what, "ask less of it, or run again") for what in missing]
        named.append(each)
    if not any(isinstance(each.metric, Asking) for each in named):
        what, hint = "it has a part that asks a judge", "name that part among the metrics too"
        parts = {each.name: leaves(each.metric, labels, level) for each in named}
        problems += [
            Problem(name, what, hint)
            for name, own in parts.items()
            if any(isinstance(leaf, Asking) for leaf in own)
        ]
    if not problems and not _deciding(stored, named):
        what = "each counts its index's own chunks, and this run has several chunkers"
        hint = "add one that may rank them, such as passage_recall@5 or recall(labels=documents)@5"
        problems.append(Problem("metrics", what, hint))
    if problems:
        raise DataError(str(stored.folder), problems)
    return named


def _missing(named: Named, cases: Sequence[Case], labels: Label, retrieve: int) -> Iterator[str]:
    """Yield what a metric reads and the run did not store."""
    for leaf in leaves(named.metric, labels):
        k = getattr(leaf, "k", None)
        if k is not None and k > retrieve:
            yield f"it reads {k} hits, and the run retrieved {retrieve}"
        if "answer" in leaf.needs and not any(each.answer for each in cases):
            yield "the run has no answers"
        judged_by = label_of(leaf)
        wanted = {GOLD[need] for need in leaf.needs if need in GOLD} | {judged_by}
        for kind in sorted(each for each in wanted if each):
            carrying = [each for each in cases if has(each.question, kind)]
            if not carrying:
                yield f"no question of the run has {kind}"
            elif kind == judged_by and not any(kind in each.judged for each in carrying):
                yield f"the run's rankings were not judged by {kind}"


def _deciding(stored: StoredRun, named: Sequence[Named]) -> list[str]:
    """Return the metrics that may rank the run's cells: the one it has first, descriptive last."""
    labels = stored.run.provenance.labels
    several = len({cell.chunker for cell in stored.run.cells}) > 1
    able = [each for each in named if not several or not within_chunker(each.metric, labels)]
    able.sort(
        key=lambda each: (each.name != stored.run.decide_by, each.metric.kind == "descriptive")
    )
    return [each.name for each in able]


def _run(stored: StoredRun, named: Sequence[Named], records: Sequence[RecordLine]) -> RunFile:
    about = stored.run.provenance
    names = [each.name for each in named]
    others = [model for model in about.models if model["used_by"] not in set(registry)]
    cells = []
    for cell in stored.run.cells:
        own = [record for record in records if record.cell == cell.name]
        scores = summarise.aggregated(own, named, about.seed, stored.clusters)
        update = {"scores": scores, "spread": summarise.spread(own)}
        cells.append(cell.model_copy(update=update))
    return stored.run.model_copy(
        update={
            "cells": cells,
            "provenance": about.model_copy(
                update={
                    "metrics": summarise.described(named, about.labels),
                    "models": [*others, *summarise.models(named)],
                }
            ),
            "decide_by": _deciding(stored, named)[0],
            "targets": {k: v for k, v in stored.run.targets.items() if k in names},
        }
    )
