"""Builds metrics from their specs, under any name that they have elsewhere, for one run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, make_dataclass, replace
from keyword import iskeyword
from typing import Annotated, Any

from pydantic import BeforeValidator

from harness.metrics import Metric, asks_judge, judge_of, metrics, parts_of
from harness.metrics.needs import Kind, Need
from harness.metrics.references import BatchReferenceMetric, is_read_whole
from harness.models.chat import ChatModel
from harness.records import Label, Question, Score
from harness.registry import label, parse, spec_name
from harness.stats.aggregate_scores import Total, WholeSetTotal
from harness.store.run_file import MetricDescription
from harness.text import numbers

LABEL_OF_NEED: Mapping[Need, Label] = {
    "evidence": "evidence",
    "documents": "documents",
    "keywords": "keywords",
    "references": "answer",
}
"""The kind of label that gives each gold need."""


_COMPARABLE_ACROSS_CHUNKERS = frozenset({"hit_rate", "mrr", "keyword_mrr", "keyword_recall"})
"""May rank cells of different chunkers, though they judge each index's own chunks."""


_TREC_NAMES = {
    "map": "ap",
    "map_cut": "ap",
    "ndcg_cut": "ndcg",
    "p": "precision",
    "recip_rank": "mrr",
    "rprec": "r_precision",
    "rr": "mrr",
    "success": "hit_rate",
}
"""Names of trec_eval and ir_measures, in lower case."""
_CUT = re.compile(r"(?P<name>map_cut|ndcg_cut|p|recall|success)[_.](?P<k>[0-9]+)", re.IGNORECASE)
_NAME = re.compile(r"\w+")


def usual_name(text: str) -> str:
    """Return a metric's spec with the name that it has here: `NDCG@10` and `ndcg_cut_10` have one.

    Letter case of names does not matter, and trec_eval's names are known: `P_5`, `map`,
    `recip_rank`. Anything else is returned as it is.
    """
    text = text.strip()
    if cut := _CUT.fullmatch(text):
        name = cut["name"].lower()
        return f"{_TREC_NAMES.get(name, name)}@{cut['k']}"
    name = _NAME.match(text)
    if name is None or text[name.end() :].startswith((":", ".")) or name[0] in metrics:
        return text
    lower = name[0].lower()
    here = {known.lower(): known for known in metrics}
    usual = here.get(lower) or _TREC_NAMES.get(lower)
    return text if usual is None else usual + text[name.end() :]


def usual_names(value: Any) -> Any:
    """Return a name, specs, or a mapping by name, with the usual names of the metrics."""
    if isinstance(value, str):
        return usual_name(value)
    if isinstance(value, list):
        return [usual_names(item) for item in value]
    if isinstance(value, Mapping):
        return {usual_names(key): item for key, item in value.items()}
    return value


Renamed = BeforeValidator(usual_names)
"""Gives metrics their usual names: a name, a list of specs, or a mapping by name."""
MetricName = Annotated[str, Renamed]


@dataclass(frozen=True)
class NamedMetric:
    """A metric under the name it was asked for by."""

    name: str
    metric: Metric


def build_metric(spec: Any, labels: Label | None = None, level: int = 1) -> NamedMetric:
    """Return the metric that `spec` names, with the run's kind of label and level filled in.

    Raises:
        SpecError: there is no such metric, or it does not take these options.
    """
    metric = metrics.build(usual_names(spec))
    typed, _ = parse(spec)
    options = label(metric).removeprefix(spec_name(metric))
    name = spec.strip() if isinstance(spec, str) else typed + options
    return NamedMetric(name, with_run_settings(metric, labels, level))


def with_run_settings(metric: Metric, labels: Label | None, level: int) -> Metric:
    """Return `metric` with the run's labels and level of relevance where it names none."""
    settings: dict[str, Any] = {}
    if labels is not None and getattr(metric, "labels", ...) is None:
        settings["labels"] = labels
    if getattr(metric, "rel", ...) is None:
        settings["rel"] = level
    return replace(metric, **settings) if settings else metric  # type: ignore[type-var]


def with_judge(named: Sequence[NamedMetric], judge: ChatModel | None) -> list[NamedMetric]:
    """Return the metrics, those that ask a judge and have none with this one."""
    return [
        NamedMetric(item.name, replace(item.metric, judge=judge))  # type: ignore[type-var]
        if asks_judge(item.metric) and judge_of(item.metric) is None
        else item
        for item in named
    ]


def fit_metrics(
    named: Sequence[NamedMetric], questions: Sequence[Question], seed: int
) -> list[NamedMetric]:
    """Return the metrics, those that learn something of the whole test set having done so."""
    return [
        NamedMetric(item.name, item.metric.fitted(questions, seed))
        if hasattr(item.metric, "fitted")
        else item
        for item in named
    ]


def count_unread(named: Sequence[NamedMetric], rows: Iterable[Mapping[str, Score]]) -> Counter[str]:
    """Return by metric on how many questions its model did not read every text whole.

    `rows` has the scores of each question by metric.
    """
    models = [item.name for item in named if isinstance(item.metric, BatchReferenceMetric)]
    return Counter(name for row in rows for name in models if not is_read_whole(row[name]))


def describe_unread(counts: Mapping[str, int]) -> list[str]:
    """Return a sentence for each metric whose model did not read every text whole."""
    return [
        f"{name}: on {numbers.count(count, 'question')} the model read only the beginning of a "
        "text; what stands behind it changes no score"
        for name, count in counts.items()
    ]


def label_of(metric: Metric) -> Label | None:
    """Return the kind of label that `metric` judges a ranking by; None if it does not."""
    label: Label | None = getattr(metric, "labels", None)
    return label


def total_of(metric: Metric) -> Total | None:
    """Return what turns summed counts into the value of a metric of the whole set; else None."""
    total = getattr(metric, "total", None)
    return None if total is None else WholeSetTotal(total, getattr(metric, "totals", None))


def is_own(metric: Metric) -> bool:
    """Return whether the user named a metric's class by a dotted name."""
    return ":" in spec_name(metric)


def stored_kind(metric: Metric) -> Kind:
    """Return the kind that a run stores, and that decides what is compared and gated.

    A stored run imports no class of the user's own, so it cannot compute the total of such a metric
    of the whole set again: that is shown as it is, like what is descriptive.
    """
    return "descriptive" if is_own(metric) and metric.kind == "whole set" else metric.kind


def stored_metric(line: MetricDescription) -> Metric:
    """Return the metric that a stored run describes; one of the user's own cannot score.

    Raises:
        SpecError: it is damaged, or of a distribution that is not installed.
    """
    name, parameters = parse(line.spec)
    if ":" not in (line.spec if name == "composite" else name):
        return metrics.build(line.spec)
    about = {"name": name, "version": line.version, "kind": line.kind, "__doc__": line.about}
    keys = [key for key in parameters if key.isidentifier() and not iskeyword(key)]
    cls = make_dataclass("StoredMetric", keys, namespace={**about, "needs": frozenset()})
    metric: Metric = cls(**{key: parameters[key] for key in keys})
    return metric


def stored_total(line: MetricDescription) -> Total | None:
    """Return what turns summed counts into the value of a stored metric of the whole set."""
    return total_of(stored_metric(line)) if line.kind == "whole set" else None


def leaf_metrics(metric: Metric, labels: Label | None = None, level: int = 1) -> list[Metric]:
    """Return the metric itself, or where it combines others those that it comes down to."""
    if not (names := parts_of(metric)):
        return [metric]
    parts = [build_metric(part, labels, level).metric for part in names]
    return [leaf for part in parts for leaf in leaf_metrics(part, labels, level)]


def counts_own_chunks(metric: Metric, labels: Label | None) -> bool:
    """Return whether a metric counts the chunks of its cell's own index as the relevant items.

    `labels` is the run's, for the parts of a metric that combines others.
    """
    return any(label_of(leaf) not in (None, "documents") for leaf in leaf_metrics(metric, labels))


def is_chunker_specific(metric: Metric, labels: Label | None) -> bool:
    """Return whether a metric says nothing between cells of different chunkers.

    Where it counts its own index's chunks, two overlapping chunks with the same passage are two
    relevant items. Hit rate and MRR, by keyword too, look only for the first, and are excepted.
    """
    counted = [leaf for leaf in leaf_metrics(metric, labels) if counts_own_chunks(leaf, labels)]
    return any(leaf.name not in _COMPARABLE_ACROSS_CHUNKERS for leaf in counted)
