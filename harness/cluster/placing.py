"""What of a run's work goes to a cluster: all that computes, and nothing that waits on a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness import scoring
from harness.asked_models import embedding_model, model_of
from harness.generators import generators
from harness.index import IndexSettings
from harness.metrics import Asking
from harness.plan import Plan
from harness.rerankers import rerankers
from harness.scoring import Named
from harness.sweep import Cell


def parts(cell: Cell, index: IndexSettings) -> list[Cell]:
    """Return how far a cell goes elsewhere: to its ranking, its reranking and its answers.

    Each has all that the one before has; the last is the cell itself, where none of its parts
    waits on a server. There is none where its embedder, its retriever or its index may.
    """
    served = index.remote is not None and cell.retriever.uses_vectors
    paid = cell.embedder is not None and embedding_model(cell.embedder) is not None
    if served or paid or _hosted(cell.retriever) or index.existing is not None:
        return []
    bare = replace(cell, reranker=rerankers.build("none"), generator=generators.build("none"))
    found = [bare]
    if cell.reranker.name != "langchain":
        found.append(replace(bare, reranker=cell.reranker))
        if not _hosted(cell.generator):
            found.append(cell)
    return list(dict.fromkeys(found))


def scored(plan: Plan) -> Plan:
    """Return the plan with those metrics alone that ask no server."""
    return _with(plan, [each for each in plan.metrics if not _asks(each, plan)])


def unscored(plan: Plan) -> Plan:
    """Return the plan with no metric, and the labels that all of them judge by."""
    return _with(plan, ())


def _with(plan: Plan, metrics: Sequence[Named]) -> Plan:
    """Return the plan with other metrics, which must not change what is judged relevant."""
    fewer = replace(plan, metrics=metrics)
    fewer.__dict__["kinds"] = plan.kinds  # a cached property
    return fewer


def _asks(named: Named, plan: Plan) -> bool:
    level = plan.settings.relevance_level
    return any(_judged(leaf) for leaf in scoring.leaves(named.metric, plan.labels, level))


def _judged(metric: object) -> bool:
    return isinstance(metric, Asking) and (metric.judge is None or metric.judge.file is None)


def _hosted(part: object) -> bool:
    """Return whether a retriever or a generator asks a chat model on a server."""
    chat = model_of(part)
    return chat is not None and chat.file is None
