"""View of a stored run for its reports: short names, order, and scores of subsets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.cache.tables import Table
from harness.comparison.cell_differences import CellDifferences
from harness.comparison.decision import Decision, decide
from harness.comparison.gate import gate_verdicts
from harness.comparison.gate.gate_verdicts import GateResult
from harness.metrics import Metric, asks_judge
from harness.metrics.failures import NO_LABELS, lack_labels
from harness.metrics.judged_ranking import JudgedRankingMetric
from harness.metrics.named_metrics import stored_metric, stored_total
from harness.people.ratings import RATINGS
from harness.records import Outcome, Question
from harness.registry import full_label
from harness.report import phrases
from harness.report.document import Mark
from harness.report.verdict_words import VerdictText, VerdictWords
from harness.runs.oracle.potential import Potential, compute_potentials
from harness.runs.unjudged_results import UnjudgedResults
from harness.stats.aggregate_scores import Aggregate, aggregate
from harness.store.cell_labels import parts_of, short_labels
from harness.store.cell_results import CellResult
from harness.store.frame import STATES, Codes, Frame, Mask, Trace
from harness.store.reader import StoredRun
from harness.text import numbers

_ROUNDING = 1e-9
_COPY_METRIC = "context_overlap"
"""1 for every answer of a generator that copies from its context."""
Floats = NDArray[np.float64]
ChartCache: TypeAlias = Table[tuple[str, str]]
"""Keeps what was drawn, so that the same need not be drawn again."""
NOT_COUNTED = "Embedding the question is not in these seconds."


class View:
    """Read-only questions that several sections ask of one run."""

    def __init__(self, stored: StoredRun, drawn: ChartCache | None = None) -> None:
        self.stored = stored
        self.run = stored.run
        self.by = stored.run.decide_by
        self.drawn = drawn
        self._frames: dict[str, Frame] = {}
        self._ceilings: dict[tuple[str, str], float | None] = {}

    @cached_property
    def cells(self) -> list[CellResult]:
        """The cells, best first by the deciding metric; those without a mean last."""

        def rank(cell: CellResult) -> tuple[bool, float]:
            mean = self.score(cell).mean
            return mean is None, -(mean or 0.0)

        return sorted(self.run.cells, key=rank)

    @property
    def best(self) -> CellResult | None:
        """The cell with the highest mean that is not only there to be beaten."""
        scored = (cell for cell in self.cells if self.score(cell).mean is not None)
        return next((cell for cell in scored if not cell.floor), None)

    def score(self, cell: CellResult, metric: str | None = None) -> Aggregate:
        """Return a cell's aggregate of one metric, by default the deciding one."""
        return cell.scores[metric or self.by]

    def counts(self, cell: CellResult, metric: str, digits: int = 3) -> str:
        """Return what a cell's mean of one metric rests on, in words."""
        frame = self.frame(cell)
        not_scored = frame.state[metric] == STATES.index("not_scored")
        unanswerable = not_scored & ~self.answerable[frame.question]
        return phrases.describe_counts(self.score(cell, metric), int(unanswerable.sum()), digits)

    @cached_property
    def answerable(self) -> Mask:
        """Which of the questions asked can be answered from the corpus."""
        return np.array([question.answerable for question in self.asked], dtype=bool)

    @property
    def unanswerable(self) -> int:
        """How many of the questions asked nothing in the corpus answers."""
        return int((~self.answerable).sum())

    @cached_property
    def shipped(self) -> CellResult | None:
        """The cell that the verdict names; None where there is none to ship."""
        ship = self.verdict.ship
        return next((cell for cell in self.cells if cell.name == ship), None)

    @property
    def focus(self) -> CellResult | None:
        """The cell that is looked at first: the one to ship, else the one with the highest mean."""
        return self.shipped or self.best or next(iter(self.cells), None)

    @cached_property
    def gate(self) -> GateResult | None:
        """What the run's gate came to; None where these scores were not judged."""
        there = (self.stored.folder / gate_verdicts.GATE).exists()
        return gate_verdicts.read_gate(self.stored) if there else None

    @property
    def is_to_be_judged(self) -> bool:
        """Whether the configuration of the run has a gate."""
        resolved = self.run.config.get("resolved")
        return isinstance(resolved, Mapping) and resolved.get("gate") is not None

    @property
    def has_gate(self) -> bool:
        """Whether the run was judged, or was to be."""
        return self.is_to_be_judged or self.gate is not None

    @property
    def asks_judge(self) -> bool:
        """Whether a metric of the run asks a judge model."""
        return any(asks_judge(self.build_metric(name)) for name in self.run.provenance.metrics)

    @property
    def has_oracle(self) -> bool:
        """Whether the oracle was asked, or the ceilings of the chunkers are known."""
        return bool(self.run.oracle or self.run.ceilings)

    @property
    def has_ratings(self) -> bool:
        """Whether people rated answers of the run."""
        return (self.stored.folder / RATINGS).exists()

    @cached_property
    def divisions(self) -> list[Division]:
        """The ways in which the questions fall into segments."""
        return list_divisions(self.stored.questions.values())

    @cached_property
    def contrasts(self) -> CellDifferences:
        """The cells side by side."""
        return CellDifferences(self.stored)

    @cached_property
    def decision(self) -> Decision:
        """What the run says about which cell to ship."""
        return decide(self.contrasts)

    @cached_property
    def verdict(self) -> VerdictText:
        """The decision in words."""
        digits = self.digits(self.by)
        names = {cell.name: self.name(cell) for cell in self.cells}
        means = {cell.name: numbers.score(self.score(cell).mean, digits) for cell in self.cells}
        unscored = "" if self.decision.means else self._why_unscored()
        words = VerdictWords(self.decision, names.__getitem__, means.__getitem__, digits, unscored)
        return words.verdict()

    def _why_unscored(self) -> str:
        """Return why the deciding metric has no value: the reason that most questions have."""
        scores = [record.scores[self.by] for record in self.stored.records]
        if not scores:
            return "none was asked"
        if lack_labels([score.reason for score in scores]):
            return NO_LABELS
        return Counter(score.reason for score in scores).most_common(1)[0][0]

    @cached_property
    def potentials(self) -> list[Potential]:
        """What each generator could come to; none where the oracle was not asked."""
        asked = bool(self.stored.run.oracle)
        return compute_potentials(self.stored, self.cells, self.shipped) if asked else []

    @cached_property
    def unjudged(self) -> UnjudgedResults:
        """What the means could be if the documents that nobody judged were relevant."""
        return UnjudgedResults(self.stored, self.cells, self.best)

    @property
    def family(self) -> int:
        """How many tests against the baseline there are, over all cells and metrics."""
        return len(self.contrasts.against_baseline)

    def beats(self, cell: CellResult, metric: str) -> str:
        """Return `+` where a cell is shown to be better than the baseline, `−` where worse."""
        return phrases.format_mark(self.contrasts.against_baseline.get((cell.name, metric)))

    @property
    def failed(self) -> int:
        """How many questions failed, over all cells."""
        return sum(cell.failed for cell in self.run.cells)

    @property
    def embeds(self) -> bool:
        """Whether any cell embeds its questions: all together, before they are timed."""
        return any(cell.embedder for cell in self.run.cells)

    def seconds(self, cell: CellResult) -> float | None:
        """Return the median seconds of a question that finished; None where not known."""
        return self.contrasts.operand.cells[cell.name].cost("seconds")

    def tokens(self, cell: CellResult) -> float | None:
        """Return the mean tokens of a question that finished, in and out; None where not known."""
        return self.contrasts.operand.cells[cell.name].cost("tokens")

    def money(self, cell: CellResult) -> float | None:
        """Return the mean money of a question that finished; None where not known."""
        return self.contrasts.operand.cells[cell.name].cost("money")

    @property
    def about(self) -> str:
        """What was evaluated, and on which day."""
        path = str(self.run.provenance.corpus.get("path") or self.run.id)
        return f"{path.rstrip('/').rpartition('/')[2]} · {phrases.format_day(self.run.started)}"

    def mark(self, cell: CellResult) -> Mark:
        """Return how a cell is drawn, the same in every table and chart."""
        return self._marks[cell.name]

    @cached_property
    def _marks(self) -> dict[str, Mark]:
        return marks(self.cells)

    def digits(self, metric: str) -> int:
        """Return with how many digits a metric is written: three where all means are tiny."""
        means = [self.score(cell, metric).mean or 0.0 for cell in self.run.cells]
        return 2 if max(means, default=1.0) >= 0.1 or not any(means) else 3

    def column(self, cell: CellResult, metric: str) -> Floats:
        """Return a cell's values in the order of its records: failed 0, without a value NaN."""
        frame = self.frame(cell)
        failed = frame.state[metric] == STATES.index("failed")
        return np.where(failed, 0.0, frame.value[metric])

    def name(self, cell: CellResult) -> str:
        """Return the label of a cell: its name without what all cells of the run share."""
        return self._labels[cell.name]

    @cached_property
    def _labels(self) -> dict[str, str]:
        return short_labels({cell.name: parts_of(cell) for cell in self.run.cells})

    def records(self, cell: CellResult) -> Sequence[Outcome]:
        """Return a cell's records, in the order of the questions: often read as gone through."""
        return self.stored.records_of([cell.name])

    def places(self, cell: CellResult) -> Codes:
        """Return where a cell's records are among all, in `stored.frame` too."""
        return self.stored.places(cell.name)

    def frame(self, cell: CellResult) -> Frame:
        """Return what a cell's records say in numbers, in the order of the questions."""
        if cell.name not in self._frames:
            self._frames[cell.name] = self.stored.frame.at(self.places(cell))
        return self._frames[cell.name]

    @cached_property
    def asked(self) -> list[Question]:
        """The questions of the run, in their order."""
        return list(self.stored.questions.values())

    def question_ids(self, cell: CellResult) -> list[str]:
        """Return the questions of a cell's records, in their order."""
        return [self.asked[number].id for number in self.frame(cell).question.tolist()]

    def question(self, record: Outcome) -> Question:
        """Return the question that a record is about."""
        return self.stored.questions[record.question]

    def mask_of(self, cell: CellResult, questions: Collection[str]) -> Mask:
        """Return which of a cell's records, in their order, are about one of the questions."""
        return np.array([id_ in questions for id_ in self.question_ids(cell)], dtype=bool)

    def aggregate_of(self, cell: CellResult, metric: str, questions: Collection[str]) -> Aggregate:
        """Return the aggregate of a metric over those of a cell's records that are wanted."""
        places = self.places(cell)[self.mask_of(cell, questions)]
        clusters = self.stored.clusters
        ids = [id_ for id_ in self.question_ids(cell) if id_ in questions]
        groups = None if clusters is None else [clusters[id_] for id_ in ids]
        total = stored_total(self.run.provenance.metrics[metric])
        scores = self.stored.frame.scores(metric, places)
        return aggregate(scores, total, groups)

    def best_marks(
        self, cells: Sequence[CellResult], lines: Sequence[Aggregate], metric: str
    ) -> list[bool]:
        """Return which of the cells, whose lines these are, to mark as the best by a metric.

        Where two means differ, those with the highest; never a floor, nor by a descriptive metric.
        """
        means = {line.mean for line in lines if line.mean is not None}
        descriptive = self.run.provenance.metrics[metric].kind == "descriptive"
        best = max(means) if len(means) > 1 and not descriptive else None
        return [
            best is not None and line.mean == best and not cell.floor
            for cell, line in zip(cells, lines, strict=True)
        ]

    def word(self, cell: CellResult, metric: str) -> str:
        """Return the word for a cell's mean of a metric; "" where it has no words.

        Of precision it is for the share of what any ranking could reach.
        """
        mean, ceiling = self.score(cell, metric).mean, self.ceiling(cell, metric)
        if mean is not None and ceiling:
            mean /= ceiling
        return phrases.band_word(self.build_metric(metric).name, mean)

    def target_outcome(self, cell: CellResult, metric: str) -> str:
        """Return whether a cell meets the target of a metric; "" where there is none."""
        target = self.run.targets.get(metric)
        if target is None:
            return ""
        score, ceiling = self.score(cell, metric), self.ceiling(cell, metric)
        if ceiling is not None and target > ceiling + _ROUNDING:
            return "out of reach"
        if score.low is None or score.high is None:
            return "undecided"
        return "met" if score.low >= target else "missed" if score.high < target else "undecided"

    def ceiling(self, cell: CellResult, metric: str) -> float | None:
        """Return the highest mean that any ranking could reach on precision@k; else None."""
        key = cell.name, metric
        if key not in self._ceilings:
            self._ceilings[key] = self._compute_ceiling(cell, metric)
        return self._ceilings[key]

    def _compute_ceiling(self, cell: CellResult, metric: str) -> float | None:
        built: Any = self.build_metric(metric)
        if not hasattr(built, "bound"):
            return None
        bounds = [
            built.bound(tuple(judged.inventory))
            for trace in self._scored(cell, metric)
            if (judged := trace.judged.get(built.labels or "documents")) is not None
            and judged.inventory is not None
        ]
        return sum(bounds) / len(bounds) if bounds else None

    def judged_share(self, cell: CellResult, metric: str) -> float | None:
        """Return how much of what a metric reads anybody judged; None where a rule judges all."""
        if self.run.provenance.metrics[metric].labels != "documents":
            return None
        k = getattr(self.build_metric(metric), "k", None)
        judged = [
            grade is not None
            for trace in self._scored(cell, metric)
            if "documents" in trace.judged
            for grade in trace.judged["documents"].grades[:k]
        ]
        return sum(judged) / len(judged) if judged else None

    def _scored(self, cell: CellResult, metric: str) -> Iterator[Trace]:
        """Yield what is known of the rankings that a metric has a value of."""
        frame = self.frame(cell)
        return compress(frame.traces, (~np.isnan(frame.value[metric])).tolist())

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics' names, the deciding one first."""
        names = list(self.run.provenance.metrics)
        return sorted(names, key=lambda name: name != self.by)

    @cached_property
    def several_chunkers(self) -> bool:
        """Whether the cells differ in their chunkers."""
        return len({cell.chunker for cell in self.run.cells}) > 1

    def is_per_chunker(self, metric: str) -> bool:
        """Return whether a metric must not be read across the chunkers of this run."""
        return self.several_chunkers and self.run.provenance.metrics[metric].within_chunker

    def needs_care(self, metric: str) -> bool:
        """Return whether a metric may be read across chunkers, but judges each one's own chunks."""
        about = self.run.provenance.metrics[metric]
        return self.several_chunkers and about.own_chunks and not about.within_chunker

    def bands(self, metric: str) -> tuple[float, ...]:
        """Return where the bands of a metric begin, worst first; none where it has no words."""
        return phrases.band_starts(self.build_metric(metric).name)

    def is_copied(self, cell: CellResult, metric: str) -> bool:
        """Return whether a metric is constant by construction in a cell."""
        spec = self.run.provenance.metrics[metric].spec
        return cell.copies and spec.partition("(")[0] == _COPY_METRIC

    def has_no_cutoff(self, metric: str) -> bool:
        """Return whether a metric of rankings has no cut of its own."""
        built = self.build_metric(metric)
        if "judge" in built.needs:
            return False  # it asks about a few, however many are retrieved
        return getattr(built, "k", 0) is None and getattr(built, "budget", None) is None

    @cached_property
    def ranked(self) -> dict[str, JudgedRankingMetric]:
        """The metrics of judged rankings, at the run's level of relevance, by name."""
        level = int(self.run.config["resolved"]["relevance_level"])
        built = {name: self.build_metric(name) for name in self.metrics}
        return {
            name: metric if metric.rel else replace(metric, rel=level)
            for name, metric in built.items()
            if isinstance(metric, JudgedRankingMetric)
        }

    def in_full(self, metric: str) -> str:
        """Return a metric with every parameter and its value."""
        return full_label(self.build_metric(metric))

    def build_metric(self, metric: str) -> Metric:
        """Return a metric by its name."""
        return stored_metric(self.run.provenance.metrics[metric])


HUES = 8
SHAPES = 4
_USUAL_HUES = {"bm25": 0, "dense": 1, "hybrid": 2}
_RERANKED_HUE = 3
_FREE_HUES = (4, 5, 6, 7, 0, 1, 2, 3)
"""Hues of methods without one of their own, in the order in which they are given away."""


def marks(cells: Sequence[CellResult]) -> dict[str, Mark]:
    """Return the mark of each cell, by its full name.

    The hue is the retrieval method, and the embedder where there is but one method; the shape is
    the chunker. Where there are more than there are hues or shapes, they come round again.
    """
    methods = [(cell.retriever, cell.reranker) for cell in cells]
    if len(set(methods)) == 1:
        methods = [(cell.embedder or "", cell.generator) for cell in cells]
    hues: dict[tuple[str, str], int] = {}
    for name, other in dict.fromkeys(methods):
        usual = _RERANKED_HUE if other != "none" else _USUAL_HUES.get(name.partition("(")[0])
        if usual is None or usual in hues.values():
            usual = next((hue for hue in _FREE_HUES if hue not in hues.values()), len(hues))
        hues[name, other] = usual
    shapes = {name: number for number, name in enumerate(dict.fromkeys(c.chunker for c in cells))}
    return {
        cell.name: Mark(hues[method] % HUES, shapes[cell.chunker] % SHAPES)
        for cell, method in zip(cells, methods, strict=True)
    }


MIN_QUESTIONS = 5
"""Of fewer questions nothing can be said."""
_MAX_DOCUMENTS = 12
"""Documents that are shown: those with the most questions."""
_SHORT_WORDS, _LONG_WORDS = 10, 20


@dataclass(frozen=True)
class Division:
    """One way to divide the questions: the ids of the questions of each segment, by its name.

    `left_out` counts segments that are not shown. A question may be in several segments.
    """

    name: str
    segments: Mapping[str, frozenset[str]]
    left_out: int = 0


def list_divisions(questions: Iterable[Question]) -> list[Division]:
    """Return the ways that divide these questions at all: two segments or more."""
    ids: dict[str, dict[str, set[str]]] = {
        way: {} for way in ("Category", "Difficulty", "Document", "Question length")
    }
    for question in questions:
        for way, names in zip(ids, _segments_of(question), strict=True):
            for name in names:
                ids[way].setdefault(name, set()).add(question.id)
    by_size = sorted(ids["Document"].items(), key=lambda group: (-len(group[1]), group[0]))
    ids["Document"] = dict(by_size[:_MAX_DOCUMENTS])
    left_out = {"Document": max(0, len(by_size) - _MAX_DOCUMENTS)}
    return [
        Division(
            way, {name: frozenset(group) for name, group in groups.items()}, left_out.get(way, 0)
        )
        for way, groups in ids.items()
        if len(groups) > 1
    ]


def _segments_of(question: Question) -> tuple[Iterable[str], ...]:
    """Return the names of a question's segments, for each way to divide."""
    documents = {passage.span.doc for passage in question.passages}
    if not documents:
        documents = {doc for doc, grade in (question.documents or {}).items() if grade > 0}
    words, length = len(question.text.split()), f"over {_LONG_WORDS} words"
    if words <= _LONG_WORDS:
        length = f"{_SHORT_WORDS + 1} to {_LONG_WORDS} words"
    if words <= _SHORT_WORDS:
        length = f"up to {_SHORT_WORDS} words"
    category, difficulty = question.category, question.difficulty
    return (
        [category] if category else (),
        [difficulty] if difficulty else (),
        sorted(documents),
        [length],
    )
