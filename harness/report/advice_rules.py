"""Rules that suggest what to change next, from what was measured in one cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from harness.records import Arrival
from harness.report.document import Advice
from harness.report.potential import potentials
from harness.report.potential_words import sentences
from harness.report.ranking_advice import advise_on_scores
from harness.report.run_view import View
from harness.stats.difference_estimate import DifferenceEstimate
from harness.store.cell_results import CellResult
from harness.store.frame import UNKNOWN, Mask, Trace
from harness.text import numbers


def advice(view: View, cell: CellResult) -> list[Advice]:
    """Return what could mend one cell, by how many questions it could mend at most, most first."""
    frame = view.frame(cell)
    lost_at, failed, traces = frame.lost, frame.failed, frame.traces
    unanswerable_ids = {
        id_ for id_, question in view.stored.questions.items() if not question.answerable
    }
    followed = _pick(traces, (lost_at != UNKNOWN) | failed)
    is_unanswerable = view.mask_of(cell, unanswerable_ids)
    asked = is_unanswerable & ~failed
    answered = _pick(traces, asked & frame.answered & ~frame.declined)
    settings = view.run.config["resolved"]
    lost = Lost(cell, settings, followed, len(followed))
    suggestions = [advice for rule in _RULES for advice in rule(lost)]
    suggestions += _advise_on_unanswerable(Lost(cell, settings, answered, int(asked.sum())))
    suggestions += advise_on_retrieval(view, cell)
    suggestions += advise_on_scores(view, cell)
    return sorted(suggestions, key=lambda advice: -advice.mends)


def _advise_on_failures(lost: Lost) -> Iterator[Advice]:
    lost = lost.filter(lambda record: record.error is not None)
    errors = [record.error for record in lost.records if record.error is not None]
    if errors:
        yield lost.advice(
            "Mend what fails",
            f"{numbers.count(len(errors), 'question')} got no answer. The first failed at "
            f"{errors[0].stage}: {errors[0].reason}",
            "failed",
        )


def _advise_on_chunking(lost: Lost) -> Iterator[Advice]:
    lost = lost.lost_at("chunking")
    facts = [arrival.facts for arrival in lost.arrivals("chunking")]
    if not facts:
        return
    pieces = [fact.pieces for fact in facts if fact.pieces]
    largest = [fact.largest for fact in facts if fact.largest is not None]
    cut = f"into {median(pieces):.0f} pieces (median)" if pieces else "apart"
    holds = f"; the largest holds {numbers.percentage(median(largest))}" if largest else ""
    yield lost.advice(
        "Use larger chunks, or more overlap",
        f"No chunk holds the evidence whole: {lost.cell.chunker} cut it {cut}{holds}.",
        "chunking",
        _double_chunk_size(lost.cell.chunker, lost.settings["chunkers"]),
    )


def _double_chunk_size(chunker: str, configured: Sequence[Mapping[str, Mapping[str, Any]]]) -> str:
    """Return the chunker's settings with twice the size, where it has one."""
    name = chunker.partition("(")[0]
    sizes = [entry[name]["size"] for entry in configured if "size" in entry.get(name, {})]
    return f"chunkers:\n  - {name}: {{size: {2 * max(sizes)}}}" if sizes else ""


def _advise_on_index(lost: Lost) -> Iterator[Advice]:
    lost = lost.lost_at("index")
    if not lost.records:
        return
    index_recall = lost.cell.index_recall
    share = (
        ""
        if index_recall is None
        else f" It finds {numbers.percentage(index_recall.mean)} of the exact "
    )
    searched = int(lost.settings.get("index", {}).get("ef_search", 100))
    yield lost.advice(
        "Make the index search harder",
        f"Exact search finds the evidence within the first {lost.depth}, the approximate index "
        f"does not.{share}{'' if index_recall is None else f'{index_recall.k} nearest.'}",
        "index",
        f"index: {{ef_search: {2 * searched}}}\n# or\nindex: {{exact: true}}",
    )


def _advise_on_near_misses(lost: Lost) -> Iterator[Advice]:
    lost = lost.lost_at("retrieval").filter(lambda record: _is_near(record, lost.near))
    ranks = [rank for record in lost.records if (rank := _exact_rank(record)) is not None]
    if not ranks:
        return
    deepest = _round_up_to_five(max(ranks))
    retrieve = f"retrieve: {max(deepest, lost.retrieve)}"
    more = f"{retrieve}\nrerankers: [none, …]\n# or\n{lost.context(deepest)}"
    yield lost.advice(
        "Give the reranker more candidates" if lost.reranks else "Add a reranker, or send more",
        f"The evidence is just below the cut: whole at rank {min(ranks)} to {max(ranks)} under "
        f"exact search (median {median(ranks):.0f}), where the first {lost.depth} are used.",
        "retrieval",
        retrieve if lost.reranks else more,
    )


def _advise_on_far_misses(lost: Lost) -> Iterator[Advice]:
    lost = lost.lost_at("retrieval").filter(lambda record: not _is_near(record, lost.near))
    if not lost.records:
        return
    if all(record.traced_to is None for record in lost.records):
        yield lost.advice(
            "Improve what is retrieved",
            f"The evidence is not among what was retrieved, for {len(lost.records):,} of "
            f"{lost.of:,} questions; how deep it lies is not known here.",
            "retrieval",
        )
        return
    ranks = [rank for record in lost.records if (rank := _exact_rank(record)) is not None]
    beyond = len(lost.records) - len(ranks)
    where = [f"at rank {min(ranks):,} to {max(ranks):,}"] if ranks else []
    where += [f"for {beyond:,} of them at no rank that was looked at"] if beyond else []
    meaning = lost.cell.embedder is not None
    yield lost.advice(
        "Try another embedding model, or reword the questions"
        if meaning
        else "Search by meaning too",
        f"The evidence is far down under exact search: whole {', '.join(where)}, where "
        f"{lost.retrieve} are retrieved. `export triplets` writes these questions, their evidence "
        "and the wrong hits above it, to fine-tune an embedding model with.",
        "retrieval",
        "embedders:\n  - sentence_transformer: {model: …}\nretrievers:\n"
        + ("  - multi_query: {}\n  - hyde: {}" if meaning else "  - dense\n  - hybrid"),
    )


def _is_near(record: Trace, near: int) -> bool:
    rank = _exact_rank(record)
    return rank is not None and rank <= near


def _exact_rank(record: Trace) -> int | None:
    """Return where all evidence that retrieval lost is whole under exact search, if it is known."""
    ranks = [
        arrival.facts.exact_rank for arrival in record.passages if arrival.stage == "retrieval"
    ]
    known_ranks = [rank for rank in ranks if rank is not None]
    return max(known_ranks) if known_ranks and len(known_ranks) == len(ranks) else None


def _advise_on_reranking(lost: Lost) -> Iterator[Advice]:
    lost = lost.lost_at("reranking")
    if not lost.records:
        return
    facts = [arrival.facts for arrival in lost.arrivals("reranking")]
    before = [fact.rank for fact in facts if fact.rank is not None]
    after = [fact.reranked for fact in facts if fact.reranked is not None]
    where = [f"rank {median(before):.0f} before"] if before else []
    where += [f"rank {median(after):.0f} after"] if after else []
    more = max(lost.sent + 1, _round_up_to_five(max(after, default=2 * lost.sent)))
    yield lost.advice(
        "Let more of the reranked list reach the prompt, or try another reranker",
        f"The evidence was retrieved, and is not among the first {lost.sent} after reranking "
        f"({', '.join(where) or 'ranks not known'}; medians).",
        "reranking",
        lost.context(more),
    )


def _advise_on_context(lost: Lost) -> Iterator[Advice]:
    lost = lost.lost_at("context")
    if lost.records and lost.settings.get("system") is not None:
        yield lost.advice(
            "Let the context hold what was retrieved",
            "The evidence was retrieved, and is not whole in the context that was sent.",
            "context",
        )
    elif lost.records:
        tokens = int(lost.settings["context"]["tokens"])
        yield lost.advice(
            "Give the context more tokens",
            f"The evidence was among the first {lost.sent} chunks, and the budget of {tokens:,} "
            "tokens ended before it was whole.",
            "context",
            f"context: {{chunks: {lost.sent}, tokens: {2 * tokens}}}",
        )


def _advise_on_generation(lost: Lost) -> Iterator[Advice]:
    lost = lost.lost_at("generation")
    if not lost.records:
        return
    declined = sum(bool(record.declined) for record in lost.records)
    floor = " This generator only copies sentences: it is a floor." if lost.cell.copies else ""
    yield lost.advice(
        "Change the generator or its prompt",
        f"All evidence was in the prompt and the answer did not carry it; {declined:,} of "
        f"{len(lost.records):,} declined. Better retrieval cannot mend these.{floor}",
        "generation",
        "generators:\n  - chat: {model: …, prompt: …}",
    )


def _advise_on_unanswerable(answered: Lost) -> Iterator[Advice]:
    if answered.records:
        yield answered.advice(
            "Add the missing sources, or let the generator decline",
            f"Nothing in the corpus answers these {answered.of:,} questions; "
            f"{len(answered.records):,} were answered all the same.",
            "generation",
        )


_RULES = (
    _advise_on_failures,
    _advise_on_chunking,
    _advise_on_index,
    _advise_on_near_misses,
    _advise_on_far_misses,
    _advise_on_reranking,
    _advise_on_context,
    _advise_on_generation,
)


def _round_up_to_five(rank: int) -> int:
    """Return `rank` rounded up to a multiple of five."""
    return -(-rank // 5) * 5


MIN_USEFUL_GAIN = 0.05


"""A gain that is hardly worth the work on retrieval."""


def advise_on_retrieval(view: View, cell: CellResult) -> Iterator[Advice]:
    """Yield that better retrieval would buy little, where that is shown.

    A gain that is not shown is no proof that there is none: what counts is the greatest one that
    the questions leave possible. Nothing of a generator that only copies, nor before every question
    was asked.
    """
    if cell.copies:
        return
    for potential in potentials(view):
        if potential.cell is not cell or not potential.rows or potential.asked < potential.askable:
            continue
        max_gain = max_plausible_gain(potential.rows[0].gain)
        if max_gain >= MIN_USEFUL_GAIN:
            continue
        wrong = len(potential.wrong)
        still_wrong = (
            f" {numbers.count(wrong, 'question')} of {potential.tested:,} are not answered right "
            "even then."
            if potential.tested
            else ""
        )
        yield Advice(
            wrong,
            potential.tested or potential.rows[0].evidence.n,
            "Work on the generator: better retrieval would buy little",
            f"{next(sentences(view, potential))} A gain of more than "
            f"{numbers.score(max(max_gain, 0.0))} can be ruled out.{still_wrong}",
            "generation",
            "generators:\n  - chat: {model: …, prompt: …}",
            potential.wrong,
        )


def max_plausible_gain(gain: DifferenceEstimate) -> float:
    """Return the greatest gain that is not ruled out with 95 % confidence; 1 where none is.

    The end of the interval; where no question differs, the exact bound of the share that would.
    """
    if gain.high is not None:
        return gain.high
    return float(1 - 0.025 ** (1 / gain.n)) if gain.identical and gain.n else 1.0


_NEAR_FACTOR = 4
"""Evidence within so many times what is looked at is just below the cut."""


def _pick(traces: Sequence[Trace], chosen: Mask) -> list[Trace]:
    return [traces[place] for place in np.flatnonzero(chosen).tolist()]


@dataclass(frozen=True)
class Lost:
    """Questions of one cell that were not answered, and the settings they were asked under."""

    cell: CellResult
    settings: Mapping[str, Any]
    records: Sequence[Trace]
    of: int

    @property
    def sent(self) -> int:
        """How many chunks the context has."""
        return int(self.settings["context"]["chunks"])

    @property
    def reranks(self) -> bool:
        """Whether the cell has a reranker."""
        return self.cell.reranker != "none"

    @property
    def retrieve(self) -> int:
        """How many the retriever is asked for."""
        return int(self.settings["retrieve"])

    @property
    def depth(self) -> int:
        """How many of what is retrieved could reach the prompt."""
        return self.retrieve if self.reranks else self.sent

    @property
    def near(self) -> int:
        """How deep evidence may lie so that it is just below the cut."""
        return max(_NEAR_FACTOR * self.depth, self.retrieve)

    def context(self, chunks: int) -> str:
        """Return settings with so many chunks in the context, and tokens in proportion."""
        tokens = int(self.settings["context"]["tokens"])
        return f"context: {{chunks: {chunks}, tokens: {-(-tokens * chunks // self.sent)}}}"

    def lost_at(self, stage: str) -> Lost:
        """Return those that a stage lost."""
        return self.filter(lambda record: record.lost_at == stage)

    def filter(self, predicate: Callable[[Trace], bool]) -> Lost:
        """Return those that are wanted; `of` stays."""
        return replace(self, records=[record for record in self.records if predicate(record)])

    def arrivals(self, stage: str) -> list[Arrival]:
        """Return the groups of passages that a stage lost."""
        return [
            arrival
            for record in self.records
            for arrival in record.passages
            if arrival.stage == stage
        ]

    def advice(self, title: str, text: str, stage: str, setting: str = "") -> Advice:
        """Return advice that could mend all of them."""
        ids = [record.question for record in self.records]
        return Advice(len(ids), self.of, title, text, stage, setting, ids)
