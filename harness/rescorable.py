"""Which metrics a stored run can be scored by, and which of them may rank its cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from harness import scoring
from harness.errors import DataError, Problem, SpecError
from harness.labels import has
from harness.metrics import Asking
from harness.records import Label, Question
from harness.scoring import GOLD, Named, label_of, leaves, within_chunker
from harness.store import StoredRun
from harness.stored_judge import check_within


def built(
    stored: StoredRun,
    metrics: Sequence[str],
    questions: Mapping[str, Question],
    labels: Label,
    level: int,
) -> list[Named]:
    """Return the metrics asked for, by default those that the run has.

    Raises:
        DataError: with all that is wrong with them.
    """
    specs = dict(zip(metrics, metrics, strict=True)) or {
        name: line.spec for name, line in stored.run.provenance.metrics.items()
    }
    named: list[Named] = []
    problems: list[Problem] = []
    for name, spec in specs.items():
        try:
            each = Named(name, scoring.build(spec, labels, level).metric)
        except SpecError as error:
            problems.append(Problem(name, error.what, error.hint))
            continue
        if not metrics:
            check_within(each.metric, stored.folder)
        missing = dict.fromkeys(_missing(each, stored, questions, labels))
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
    if not problems and not deciding(stored, named):
        what = "each counts its index's own chunks, and this run has several chunkers"
        hint = "add one that may rank them, such as passage_recall@5 or recall(labels=documents)@5"
        problems.append(Problem("metrics", what, hint))
    if problems:
        raise DataError(str(stored.folder), problems)
    return named


def _missing(
    named: Named, stored: StoredRun, questions: Mapping[str, Question], labels: Label
) -> Iterator[str]:
    """Yield what a metric reads and the run did not store."""
    retrieve = int(stored.run.config["resolved"]["retrieve"])
    ids = list(questions)
    asked = [ids[number] for number in np.unique(stored.columns.question).tolist()]
    for leaf in leaves(named.metric, labels):
        k = getattr(leaf, "k", None)
        if k is not None and k > retrieve:
            yield f"it reads {k} hits, and the run retrieved {retrieve}"
        if "answer" in leaf.needs and not stored.columns.answered.any():
            yield "the run has no answers"
        judged_by = label_of(leaf)
        wanted = {GOLD[need] for need in leaf.needs if need in GOLD} | {judged_by}
        for kind in sorted(each for each in wanted if each):
            carrying = {id_ for id_ in asked if has(questions[id_], kind)}
            if not carrying:
                yield f"no question of the run has {kind}"
            elif kind == judged_by and not any(
                kind in record.judged for record in stored.records if record.question in carrying
            ):
                yield f"the run's rankings were not judged by {kind}"


def deciding(stored: StoredRun, named: Sequence[Named]) -> list[str]:
    """Return the metrics that may rank the run's cells: the one it has first, descriptive last."""
    labels = stored.run.provenance.labels
    several = len({cell.chunker for cell in stored.run.cells}) > 1
    able = [each for each in named if not several or not within_chunker(each.metric, labels)]
    able.sort(
        key=lambda each: (each.name != stored.run.decide_by, each.metric.kind == "descriptive")
    )
    return [each.name for each in able]
