"""Says what became of a group of evidence: how it was cut, its ranks, where the prompt ended."""

from __future__ import annotations

from harness.records import Arrival
from harness.report.run_view import View
from harness.store.cell_results import CellResult
from harness.text import numbers


def count_going_on(view: View, cell: CellResult) -> int | None:
    """Return how many of the hits retrieved go on, to be reranked or read; None: all of them."""
    settings = view.run.config.get("resolved", {})
    context_chunks: int | None = (settings.get("context") or {}).get("chunks")
    return context_chunks if cell.reranker == "none" else settings.get("retrieve")


def describe_arrival(arrival: Arrival, traced_to: int | None, going_on: int | None) -> str:
    """Return what is known of a group of passages.

    Args:
        arrival: What became of it.
        traced_to: How deep exact search was looked at.
        going_on: How many of what was retrieved go on; None: all.
    """
    facts, stage = arrival.facts, arrival.stage
    last = _whole(facts.rank if facts.reranked is None else facts.reranked)
    below = ""
    if facts.rank is not None and going_on is not None:
        below = f"{_whole(facts.rank)}, below the first {going_on:,} that go on"
    if stage is None:
        return "in the prompt" if last == _whole(None) else f"in the prompt, {last}"
    if stage == "chunking":
        if facts.pieces == 0:
            return "no chunk holds any of it"
        over = numbers.count(facts.pieces, "chunk") if facts.pieces else "several chunks"
        share = "" if facts.largest is None else numbers.percentage(facts.largest)
        largest = f", the largest share in one is {share}" if share else ""
        return f"no chunk holds it whole: it is spread over {over}{largest}"
    if stage == "index":
        found = f"with the index {below}" if below else "not found by the index"
        return f"{true_rank(facts.exact_rank, traced_to)}, and {found}"
    if stage == "retrieval":
        deep = f"not whole in what was retrieved: {true_rank(facts.exact_rank, traced_to)}"
        return below or deep
    if stage == "reranking":
        after = "not kept" if facts.reranked is None else f"at {facts.reranked:,}"
        return f"{_whole(facts.rank)} before reranking, {after} after"
    cut = facts.cut_at
    ended = "and not in the prompt" if cut is None else f"but the context was cut at token {cut:,}"
    return f"{last}, {ended}"


def _whole(rank: int | None) -> str:
    return "not whole" if rank is None else f"whole at rank {rank:,}"


def true_rank(rank: int | None, traced_to: int | None) -> str:
    """Return where exact search has something, or how deep it was looked for."""
    if rank is not None:
        return f"rank {rank:,} under exact search"
    if traced_to is None:
        return "its true rank is not known"
    return f"not within the first {traced_to:,} under exact search"
