"""Advice from the scores alone, for runs whose labels do not say where an answer was lost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from harness.report.document import Advice
from harness.report.run_view import View
from harness.store.cell_results import CellResult
from harness.text import numbers

_HIT = ("hit_rate", "passage_hit_rate", "recall", "passage_recall", "keyword_recall")
_ORDER = ("mrr", "passage_mrr", "keyword_mrr", "ndcg", "keyword_ndcg", "ap")
_RECALL = ("recall", "passage_recall", "keyword_recall")
_LOW_ANSWER = 0.5
"""An answer under it counts as wrong, by the metric that decides."""
_PERFECT = 1 - 1e-6


def advise_on_scores(view: View, cell: CellResult) -> Iterator[Advice]:
    """Yield what the scores of rankings and answers advise; nothing where losses were traced."""
    if cell.losses is not None:
        return
    hit, order, recall = (_metric(view, names) for names in (_HIT, _ORDER, _RECALL))
    if hit is not None:
        yield from _advise_on_recall(view, cell, hit)
        if order is not None:
            yield from _advise_on_order(view, cell, hit, order)
        if recall is not None:
            yield from _advise_on_rest(view, cell, recall)
    elif view.run.provenance.metrics[view.by].kind == "quality":
        low = view.column(cell, view.by) < _LOW_ANSWER
        yield from _advice(
            view,
            cell,
            view.by,
            low,
            "Label the evidence of these questions",
            f"{view.by} is under {_LOW_ANSWER:g} for {{}}. Without labels of what should be "
            "retrieved nothing says whether retrieval or the generator lost them.",
            "generation",
        )


def _advise_on_recall(view: View, cell: CellResult, hit: str) -> Iterator[Advice]:
    retrieve = view.run.config["resolved"].get("retrieve")
    settings = "retrievers: [bm25, dense, hybrid]\n# or another embedding model"
    if isinstance(retrieve, int):
        settings = f"retrieve: {2 * retrieve}\n# or\n{settings}"
    yield from _advice(
        view,
        cell,
        hit,
        view.column(cell, hit) == 0,
        "Find more: search wider, or another way",
        f"Nothing relevant is among what {hit} reads for {{}}; its mean is "
        f"{_mean(view, cell, hit)}. This is recall: no better order can mend it.",
        "retrieval",
        settings,
    )


def _advise_on_order(view: View, cell: CellResult, hit: str, order: str) -> Iterator[Advice]:
    late = (view.column(cell, hit) > 0) & (view.column(cell, order) < _PERFECT)
    reranks = cell.reranker != "none"
    yield from _advice(
        view,
        cell,
        order,
        late,
        "Improve the order: try another reranker" if reranks else "Improve the order: rerank",
        f"Something relevant is found and does not stand where it should for {{}}: {hit} is "
        f"{_mean(view, cell, hit)}, {order} {_mean(view, cell, order)}.",
        "reranking",
        "rerankers:\n  - none\n  - cross_encoder: {model: …}",
    )


def _advise_on_rest(view: View, cell: CellResult, recall: str) -> Iterator[Advice]:
    values = view.column(cell, recall)
    yield from _advice(
        view,
        cell,
        recall,
        (values > 0) & (values < _PERFECT),
        "Read more results, or larger chunks",
        f"A part of what is relevant is among what {recall} reads for {{}}, and the rest is not.",
        "retrieval",
    )


def _advice(
    view: View,
    cell: CellResult,
    metric: str,
    wanted: NDArray[np.bool_],
    title: str,
    text: str,
    stage: str,
    setting: str = "",
) -> Iterator[Advice]:
    """Yield one piece about the questions that are `wanted`; `{}` in `text` is how many they are.

    A system of the user's own has no settings to try.
    """
    scored = int((~np.isnan(view.column(cell, metric))).sum())
    asked = view.question_ids(cell)
    ids = [asked[number] for number in np.flatnonzero(wanted & ~view.frame(cell).failed)]
    if ids:
        counted = f"{len(ids):,} of {numbers.count(scored, 'question')}"
        is_system = view.run.config["resolved"].get("system") is not None
        yield Advice(
            len(ids),
            scored,
            title,
            text.replace("{}", counted),
            stage,
            "" if is_system else setting,
            ids,
        )


def _metric(view: View, names: tuple[str, ...]) -> str | None:
    """Return the metric of the run that is the first of these kinds, and reads the most."""
    built = {name: view.build_metric(name) for name in view.metrics}
    ranked = [
        (names.index(metric.name), -(getattr(metric, "k", None) or float("inf")), name)
        for name, metric in built.items()
        if metric.name in names
    ]
    return min(ranked)[2] if ranked else None


def _mean(view: View, cell: CellResult, metric: str) -> str:
    return numbers.score(view.score(cell, metric).mean, view.digits(metric))
