"""People's labels of a run's items, and the means and differences that they correct.

`labels.jsonl` of a run holds the labels, whether they came from a file that the configuration
names or from rating forms; `run.json` holds what they correct (METRICS.md, section 6).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from harness.files.atomic import write_atomically
from harness.fingerprint import fingerprint
from harness.metrics.judge import MeanVerdictMetric
from harness.metrics.named_metrics import NamedMetric, build_metric
from harness.records import Outcome
from harness.runs.run_inputs import RunInputs
from harness.stats.calibration import combine_labels, gather_items, make_card
from harness.stats.corrected_mean import CorrectedMean, corrected_mean
from harness.store.judge_cards import (
    CorrectedCell,
    CorrectedDifference,
    CorrectedMetric,
    JudgeCard,
    KnownJudge,
    RunLabel,
)
from harness.store.reader import LABELS, StoredRun
from harness.store.record_format import RecordFormat
from harness.store.run_file import RunFile
from harness.testset.label_file import LabelFile, LabelRow, find_metric, row_hash, text_hash
from harness.text.numbers import count

LABEL_FORMAT = RecordFormat(RunLabel)
MIN_LABELS = 20
"""Labels from which on a corrected mean is shown."""
_MAX_NAMED = 5


def read_run_labels(stored: StoredRun) -> list[RunLabel]:
    """Return the labels that a run holds.

    Raises:
        DataError: the file is damaged.
    """
    if not (stored.folder / LABELS).is_file():
        return []
    return list(stored.lines(LABELS, LABEL_FORMAT, "import the labels again"))


def add_file(stored: StoredRun, prepared: RunInputs) -> RunFile:
    """Write the labels that the configuration names into a run; return its `run.json` with them.

    Raises:
        OSError: they cannot be written.
    """
    config = prepared.config
    assert config.people is not None
    assert config.settings.people is not None
    drawn = config.settings.people.drawn or ""
    labels, notes = match_labels(stored, config.people, prepared.plan.metrics, drawn)
    write_atomically(stored.folder / LABELS, map(LABEL_FORMAT.line, labels))
    file = correct_run(stored, labels)
    return replace(file, warnings=(*file.warnings, *notes))


def match_labels(
    stored: StoredRun, file: LabelFile, metrics: Sequence[NamedMetric], drawn: str
) -> tuple[list[RunLabel], list[str]]:
    """Return the labels of a file that are about this run's texts, and notes on the others.

    `drawn` says how the items were chosen, where the file does not.
    """
    judged = {named.name: named.metric for named in metrics
              if isinstance(named.metric, MeanVerdictMetric)}  # fmt: skip
    cells = {name: cell.name for cell in stored.run.cells for name in (cell.label, cell.name)}
    only = stored.run.cells[0].name if len(stored.run.cells) == 1 else ""
    labels: list[RunLabel] = []
    absent: list[str] = []
    changed: list[str] = []
    for line in file.rows:
        row = line.value
        name = find_metric(judged, row.metric)
        cell = cells.get(row.cell, "") if row.cell else only
        record = stored.record(cell, row.item)
        text = None if record is None else _labelled_text(stored, record, row)
        if name is None or record is None or text is None:
            absent.append(row.item)
        elif text_hash(text) != row_hash(row):
            changed.append(row.item)
        else:
            labels.append(
                RunLabel(
                    metric=name,
                    cell=cell,
                    question=row.item,
                    hit=row.hit,
                    label=row.label / judged[name].top,
                    rater=row.rater,
                    drawn=row.drawn or drawn,
                )
            )
    notes = []
    for items, why in ((absent, "not in this run"), (changed, "of a text that changed")):
        if items:
            named = ", ".join(items[:_MAX_NAMED]) + (", …" if len(items) > _MAX_NAMED else "")
            notes.append(f"{file.path.name}: {count(len(items), 'label')} {why}, left out: {named}")
    return labels, notes


def _labelled_text(stored: StoredRun, record: Outcome, row: LabelRow) -> str | None:
    if row.hit is None:
        return record.answer
    if row.hit > len(record.hits):
        return None
    hit = record.hits[row.hit - 1]
    return stored.texts[hit.doc, hit.start, hit.end]


def correct_run(stored: StoredRun, labels: Iterable[RunLabel]) -> RunFile:
    """Return a run's `run.json` with the means that labels correct, and cards they give.

    A card is made of the labels where none lies beside the configuration.
    """
    by_metric: dict[str, list[RunLabel]] = defaultdict(list)
    for label in labels:
        if label.metric in stored.run.provenance.metrics:
            by_metric[label.metric].append(label)
    corrected = {}
    judges = {name: item for name, item in stored.run.judges.items()
              if item.card.labels != LABELS}  # fmt: skip
    for name, own in by_metric.items():
        values = _labels_by_item(stored, own)
        corrected[name] = _correct_metric(stored, name, own, values)
        card = None if name in judges else _card(stored, name, values)
        if card is not None:
            judges[name] = KnownJudge(card=card)
    return replace(stored.run, corrected=corrected, judges=judges)


_Items = Mapping[str, Mapping[str, float]]
"""By cell and question: people's label, on the metric's scale."""


def _labels_by_item(stored: StoredRun, labels: Sequence[RunLabel]) -> _Items:
    """Return people's label of each question in each cell; of judged hits all must have one."""
    grades: dict[tuple[str, str], dict[int | None, list[float]]] = defaultdict(dict)
    for label in labels:
        grades[label.cell, label.question].setdefault(label.hit, []).append(label.label)
    items: dict[str, dict[str, float]] = defaultdict(dict)
    for (cell, question), by_hit in grades.items():
        values = {hit: combine_labels(given, False) for hit, given in by_hit.items()}
        if None in values:
            value = values[None]
        else:
            record = stored.record(cell, question)
            score = None if record is None else record.scores.get(labels[0].metric)
            ranks = range(1, 1 + len(score.verdicts if score else ()))
            known = [values.get(rank) for rank in ranks]
            value = None if None in known or not known else float(np.mean(np.array(known)))
        if value is not None:
            items[cell][question] = value
    return items


def _columns(stored: StoredRun, metric: str, cell: str) -> dict[str, float]:
    """Return the judge's value of each question that it scored in a cell."""
    places, ids = stored.places(cell), list(stored.questions)
    values = stored.frame.value[metric][places]
    questions = stored.frame.question[places]
    return {
        ids[number]: value
        for number, value in zip(questions.tolist(), values.tolist(), strict=True)
        if value == value
    }


def _correct_metric(
    stored: StoredRun, metric: str, labels: Sequence[RunLabel], items: _Items
) -> CorrectedMetric:
    if any(not label.drawn for label in labels):
        note = "nothing says how the labelled items were drawn: `people: {drawn: random}`"
        return CorrectedMetric(labels=len(labels), note=note)
    cells, differences = [], []
    verdicts = {cell.name: _columns(stored, metric, cell.name) for cell in stored.run.cells}
    few = 0
    for cell, own in items.items():
        mean = _correct(stored, own, verdicts[cell], False)
        few = max(few, sum(id_ in verdicts[cell] for id_ in own))
        if mean is not None:
            cells.append(CorrectedCell(cell=cell, mean=mean))
    baseline = stored.run.baseline or next(iter(verdicts), "")
    for cell, own in items.items():
        if cell == baseline or baseline not in items:
            continue
        other = items[baseline]
        half = own.keys() ^ other.keys()
        values = {id_: value - verdicts[baseline][id_] for id_, value in verdicts[cell].items()
                  if id_ in verdicts[baseline] and id_ not in half}  # fmt: skip
        both = {id_: value - other[id_] for id_, value in own.items() if id_ in other}
        mean = _correct(stored, both, values, True)
        if mean is not None:
            differences.append(CorrectedDifference(cell=cell, baseline=baseline, difference=mean))
    note = (
        ""
        if cells
        else f"{count(few, 'labelled item')} in a cell: from {MIN_LABELS} on it is shown"
    )
    return CorrectedMetric(
        labels=len(labels), cells=tuple(cells), differences=tuple(differences), note=note
    )


def _correct(
    stored: StoredRun, labels: Mapping[str, float], verdicts: Mapping[str, float], paired: bool
) -> CorrectedMean | None:
    """Return a mean over the questions that the judge scored; None with too few labels."""
    labelled = [id_ for id_ in labels if id_ in verdicts]
    others = [id_ for id_ in verdicts if id_ not in labels]
    if len(labelled) < MIN_LABELS:
        return None
    clusters = stored.clusters or {}
    return corrected_mean(
        [labels[id_] for id_ in labelled],
        [verdicts[id_] for id_ in labelled],
        [verdicts[id_] for id_ in others],
        [clusters.get(id_, id_) for id_ in labelled],
        [clusters.get(id_, id_) for id_ in others],
        paired=paired,
    )


def _card(stored: StoredRun, metric: str, items: _Items) -> JudgeCard | None:
    """Return the card of a judge by the labels of its own run."""
    built: Any = build_metric(stored.run.provenance.metrics[metric].spec).metric
    about = next(
        (model for model in stored.run.provenance.models if model["used_by"] == built.name), {}
    )
    clusters = stored.clusters or {}
    rows = []
    for cell, own in items.items():
        verdicts = _columns(stored, metric, cell)
        rows += [
            (f"{cell} {id_}", "", label, verdicts[id_], clusters.get(id_, id_))
            for id_, label in own.items()
            if id_ in verdicts
        ]
    if not rows:
        return None
    return JudgeCard(
        metric=metric,
        judge=(about.get("judge") or {}).get("model"),
        identity=fingerprint({key: part for key, part in about.items() if key != "used_by"}),
        prompt=(about.get("prompt") or {}).get("version"),
        labels=LABELS,
        labels_hash="",
        card=make_card(gather_items(rows), None, stored.run.provenance.seed, one_scale=True),
    )
