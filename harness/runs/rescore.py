"""Scores a stored run again, by other metrics or newer versions, without running it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from harness import user_code
from harness.cache.folders import Cache
from harness.cache.tables import ReplyAge
from harness.errors import DataError, Problem, RunError, SpecError
from harness.files.batches import batched
from harness.metrics import asks_judge, named_metrics
from harness.metrics import metrics as registry
from harness.metrics.named_metrics import (
    LABEL_OF_NEED,
    NamedMetric,
    is_chunker_specific,
    label_of,
    leaf_metrics,
    usual_name,
)
from harness.models.chat import ChatModel
from harness.ranking.relevance import has_label
from harness.records import Label, Outcome, Question, Score
from harness.registry import parse
from harness.runs import aggregate, judge_cards, people_labels, scoring, stored_judge
from harness.runs.oracle import oracle_scores
from harness.runs.outcomes import make_cases
from harness.runs.result_tables import ScoreTable
from harness.store import reader, rewriting
from harness.store.cell_results import CellResult
from harness.store.frame import Frame, FrameBuilder
from harness.store.outcome_file import OUTCOME_FORMAT
from harness.store.reader import StoredRun
from harness.store.run_file import RUN_FORMAT, OracleOutcome, RunFile
from harness.text.numbers import count

_BATCH_QUESTIONS = 256
"""Questions that are scored, and held in memory, at once."""
_PART_PREFIX = f".{reader.RECORDS}-"


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
    stored = reader.load(folder)
    labels = stored.run.provenance.labels
    level = int(stored.run.config["resolved"]["relevance_level"])
    questions = stored.questions
    old_records = oracle_scores.read_records(stored)
    selected = build_metrics(stored, metrics, questions, labels, level)
    selected = named_metrics.fit_metrics(
        selected, list(questions.values()), stored.run.provenance.seed
    )
    if judge is None and any(asks_judge(entry.metric) for entry in selected):
        judge = stored_judge.read_judge(stored)
    selected = named_metrics.with_judge(selected, judge)
    judges: list[Any] = [entry.metric for entry in selected if asks_judge(entry.metric)]
    for metric in judges:
        metric.check()
    lost: list[str] = []
    with (
        Cache(cache) if judges and cache is not None else nullcontext() as open_cache,
        TemporaryFile(
            "w+", encoding="utf-8", newline="\n", prefix=_PART_PREFIX, dir=folder
        ) as file,
    ):
        if open_cache is not None:  # no verdict that is older than the run
            open_cache.replies.age = ReplyAge(_began(stored), earlier=False)
        judged = chain(
            stored_judge.stored_answers(stored, questions),
            (
                (record.scores, oracle_scores.to_case(record, questions[record.question]))
                for record in old_records
            ),
        )
        replies = stored_judge.stored_replies(stored, selected, judged)
        keeper = stored_judge.ReplayingScores(
            replies, None if open_cache is None else ScoreTable(open_cache)
        )
        names = [cell.name for cell in stored.run.cells]
        numbers = FrameBuilder(names, questions, [metric.name for metric in selected])
        for batch in batched(stored.records, _BATCH_QUESTIONS):
            sampled = [
                make_cases(record, questions[record.question], stored.texts) for record in batch
            ]
            rows = scoring.score_sampled(selected, sampled, labels, level, keeper)
            for record, (scores, samples) in zip(batch, rows, strict=True):
                pairs = zip(record.samples, samples, strict=True)
                kept = tuple(replace(was, scores=new.scores) for was, new in pairs)
                rescored = replace(record, scores=scores, samples=kept)
                lost += _lost_verdicts(record, rescored)
                numbers.add(rescored)
                file.write(OUTCOME_FORMAT.line(rescored))
        new_records = oracle_scores.score_records(
            old_records,
            questions,
            selected,
            labels,
            level,
            oracle_scores.read_answer_test(stored.run),
            keeper,
        )
        for old, new in zip(old_records, new_records, strict=True):
            lost += _lost_verdicts(old, new)
        if lost:
            raise RunError(
                f"the judge gave up on {count(len(lost), 'question')} with verdicts: "
                f"{lost[0]}\n"
                "  nothing was changed; try again later, or name another: --judge provider:model"
            )
        run = replace(
            _updated_run(stored, selected, _cell_lines(stored, selected, numbers.frame())),
            oracle=oracle_scores.summarise_again(stored, new_records, selected),
            ceilings=tuple(oracle_scores.recompute_ceilings(stored)),
        )
        people = people_labels.read_run_labels(stored)
        if people:
            scored = StoredRun(
                folder, run, stored.records, questions, stored.texts, stored.sums, numbers.frame()
            )
            run = people_labels.correct_run(scored, people)
        file.seek(0)
        files: dict[str, Iterable[str]] = {reader.RECORDS: file}
        if new_records:
            files[reader.ORACLE] = [oracle_scores.to_jsonl(new_records)]
        files[reader.RUN] = [RUN_FORMAT.text(run)]
        with rewriting.lock_run(folder):
            rewriting.replace(folder, files)
    return run


def _began(stored: StoredRun) -> float:
    try:
        return datetime.fromisoformat(stored.run.started).timestamp()
    except (ValueError, OverflowError):
        return math.inf  # it does not say


_ScoredLine = Outcome | OracleOutcome


def _lost_verdicts(old: _ScoredLine, new: _ScoredLine) -> list[str]:
    """Return why a record lost a verdict that it had, once; empty where it has them all."""
    reasons = [
        score.reason
        for before, scores in zip(_scores(old), _scores(new), strict=True)
        for name, score in scores.items()
        if score.state == "metric_failed"
        and (known := before.get(name)) is not None
        and known.verdicts
        and known.value is not None
    ]
    return reasons[:1]


def _scores(record: _ScoredLine) -> list[Mapping[str, Score]]:
    """Return the scores of each sample, then those of the question."""
    samples = record.samples if isinstance(record, Outcome) else ()
    return [*(sample.scores for sample in samples), record.scores]


def _cell_lines(
    stored: StoredRun, metrics: Sequence[NamedMetric], frame: Frame
) -> Iterator[CellResult]:
    """Yield each cell's line; one without records has scores of nothing."""
    questions = list(stored.questions.values())
    for number, cell in enumerate(stored.run.cells):
        part = frame.at(np.flatnonzero(frame.cell == number))
        clusters = aggregate.clusters_of(part, questions)
        yield replace(
            cell,
            scores=aggregate.aggregate_metrics(part, metrics, clusters),
            spread=aggregate.measure_spread(part),
        )


def _updated_run(
    stored: StoredRun, metrics: Sequence[NamedMetric], cells: Iterable[CellResult]
) -> RunFile:
    about = stored.run.provenance
    names = [metric.name for metric in metrics]
    scorers = {*registry, *(parse(line.spec)[0] for line in about.metrics.values())}
    others = [model for model in about.models if model["used_by"] not in scorers]
    return replace(
        stored.run,
        cells=tuple(cells),
        provenance=replace(
            about,
            metrics=aggregate.describe_metrics(metrics, about.labels),
            models=(*others, *aggregate.metric_models(metrics)),
        ),
        decide_by=ranking_metrics(stored, metrics)[0],
        targets={name: target for name, target in stored.run.targets.items() if name in names},
        judges=judge_cards.recheck_cards(stored.run.judges, metrics),
        corrected={},
    )


def build_metrics(
    stored: StoredRun,
    metrics: Sequence[str],
    questions: Mapping[str, Question],
    labels: Label,
    level: int,
) -> list[NamedMetric]:
    """Return the metrics asked for, by default those that the run has.

    Those asked for have the names that a run's configuration gives them: `map` is `ap`.

    Raises:
        DataError: with all that is wrong with them.
    """
    specs = {name: name for name in map(usual_name, metrics)} or {
        name: line.spec for name, line in stored.run.provenance.metrics.items()
    }
    selected: list[NamedMetric] = []
    problems: list[Problem] = []
    for name, spec in specs.items():
        try:
            with user_code.importing(Path()) if metrics else nullcontext():
                built = named_metrics.build_metric(spec, labels, level)
            candidate = NamedMetric(name, built.metric)
        except SpecError as error:
            problems.append(Problem(name, error.what, error.hint))
            continue
        if not metrics:
            stored_judge.check_metric(candidate.metric, stored.folder)
        missing = dict.fromkeys(_find_missing(candidate, stored, questions, labels))
        problems += [Problem(name, reason, "ask less of it, or run again") for reason in missing]
        selected.append(candidate)
    if not any(asks_judge(entry.metric) for entry in selected):
        message, hint = "it has a part that asks a judge", "name that part among the metrics too"
        parts = {metric.name: leaf_metrics(metric.metric, labels, level) for metric in selected}
        problems += [
            Problem(name, message, hint)
            for name, own_leaves in parts.items()
            if any(map(asks_judge, own_leaves))
        ]
    if not problems and not ranking_metrics(stored, selected):
        message = "each counts its index's own chunks, and this run has several chunkers"
        hint = "add one that may rank them, such as passage_recall@5 or recall(labels=documents)@5"
        problems.append(Problem("metrics", message, hint))
    if problems:
        raise DataError(str(stored.folder), problems)
    return selected


def _find_missing(
    named: NamedMetric, stored: StoredRun, questions: Mapping[str, Question], labels: Label
) -> Iterator[str]:
    """Yield what a metric reads and the run did not store."""
    retrieve = int(stored.run.config["resolved"]["retrieve"])
    ids = list(questions)
    asked_ids = [ids[number] for number in np.unique(stored.frame.question).tolist()]
    for leaf in leaf_metrics(named.metric, labels):
        k = getattr(leaf, "k", None)
        if k is not None and k > retrieve:
            yield f"it reads {k} hits, and the run retrieved {retrieve}"
        if "answer" in leaf.needs and not stored.frame.answered.any():
            yield "the run has no answers"
        judged_by = label_of(leaf)
        kinds = {LABEL_OF_NEED[need] for need in leaf.needs if need in LABEL_OF_NEED} | {judged_by}
        for kind in sorted(name for name in kinds if name):
            carrying = {id_ for id_ in asked_ids if has_label(questions[id_], kind)}
            if not carrying:
                yield f"no question of the run has {kind}"
            elif kind == judged_by and not any(
                kind in record.judged for record in stored.records if record.question in carrying
            ):
                yield f"the run's rankings were not judged by {kind}"


def ranking_metrics(stored: StoredRun, metrics: Sequence[NamedMetric]) -> list[str]:
    """Return the metrics that may rank the run's cells: the one it has first, descriptive last."""
    labels = stored.run.provenance.labels
    several_chunkers = len({cell.chunker for cell in stored.run.cells}) > 1
    suitable = [
        metric
        for metric in metrics
        if not several_chunkers or not is_chunker_specific(metric.metric, labels)
    ]
    suitable.sort(
        key=lambda metric: (
            metric.name != stored.run.decide_by,
            metric.metric.kind == "descriptive",
        )
    )
    return [metric.name for metric in suitable]
