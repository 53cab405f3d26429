"""What to try next: each piece of advice rests on what was measured in one cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from harness import numbers
from harness.columns import UNKNOWN
from harness.report.advising_retrieval import of_oracle
from harness.report.blocks import Advice
from harness.report.lost import Lost, slim
from harness.report.view import View
from harness.stored import CellLine, RecordLine


def advice(view: View, cell: CellLine) -> list[Advice]:
    """Return what could mend one cell, by how many questions it could mend at most, most first."""
    places, columns = view.places(cell), view.stored.columns
    lost_at, failed = columns.lost[places], columns.failed[places]
    nowhere = {id_ for id_, each in view.stored.questions.items() if not each.answerable}
    followed = slim(view.stored.some(places[(lost_at != UNKNOWN) | failed]))
    unanswerable = slim(view.stored.some(places[view.among(cell, nowhere) & ~failed]))
    settings = view.run.config["resolved"]
    lost = Lost(cell, settings, followed, len(followed))
    found = [each for what in _WHATS for each in what(lost)]
    found += _answered_anyway(Lost(cell, settings, unanswerable, len(unanswerable)))
    found += of_oracle(view, cell)
    return sorted(found, key=lambda each: -each.mends)


def _failed(lost: Lost) -> Iterator[Advice]:
    lost = lost.those(lambda record: record.error is not None)
    errors = [record.error for record in lost.records if record.error is not None]
    if errors:
        yield lost.advice(
            "Mend what fails",
            f"{numbers.count(len(errors), 'question')} got no answer. The first failed at "
            f"{errors[0].stage}: {errors[0].reason}",
            "failed",
        )


def _chunking(lost: Lost) -> Iterator[Advice]:
    lost = lost.at("chunking")
    facts = [each.facts for each in lost.arrivals("chunking")]
    if not facts:
        return
    pieces = [each.pieces for each in facts if each.pieces]
    largest = [each.largest for each in facts if each.largest is not None]
    cut = f"into {median(pieces):.0f} pieces (median)" if pieces else "apart"
    holds = f"; the largest holds {numbers.percentage(median(largest))}" if largest else ""
    yield lost.advice(
        "Use larger chunks, or more overlap",
        f"No chunk holds the evidence whole: {lost.cell.chunker} cut it {cut}{holds}.",
        "chunking",
        _larger(lost.cell.chunker, lost.settings["chunkers"]),
    )


def _larger(chunker: str, configured: Sequence[Mapping[str, Mapping[str, Any]]]) -> str:
    """Return the chunker's settings with twice the size, where it has one."""
    name = chunker.partition("(")[0]
    sizes = [each[name]["size"] for each in configured if "size" in each.get(name, {})]
    return f"chunkers:\n  - {name}: {{size: {2 * max(sizes)}}}" if sizes else ""


def _index(lost: Lost) -> Iterator[Advice]:
    lost = lost.at("index")
    if not lost.records:
        return
    found = lost.cell.index_recall
    share = "" if found is None else f" It finds {numbers.percentage(found.mean)} of the exact "
    searched = int(lost.settings.get("index", {}).get("ef_search", 100))
    yield lost.advice(
        "Make the index search harder",
        f"Exact search finds the evidence within the first {lost.depth}, the approximate index "
        f"does not.{share}{'' if found is None else f'{found.k} nearest.'}",
        "index",
        f"index: {{ef_search: {2 * searched}}}\n# or\nindex: {{exact: true}}",
    )


def _just_below(lost: Lost) -> Iterator[Advice]:
    lost = lost.at("retrieval").those(lambda record: _is_near(record, lost.near))
    ranks = [rank for record in lost.records if (rank := _rank(record)) is not None]
    if not ranks:
        return
    deepest = _rounded(max(ranks))
    retrieve = f"retrieve: {max(deepest, lost.retrieve)}"
    more = f"{retrieve}\nrerankers: [none, …]\n# or\n{lost.context(deepest)}"
    yield lost.advice(
        "Give the reranker more candidates" if lost.reranks else "Add a reranker, or send more",
        f"The evidence is just below the cut: whole at rank {min(ranks)} to {max(ranks)} under "
        f"exact search (median {median(ranks):.0f}), where the first {lost.depth} are used.",
        "retrieval",
        retrieve if lost.reranks else more,
    )


def _far_down(lost: Lost) -> Iterator[Advice]:
    lost = lost.at("retrieval").those(lambda record: not _is_near(record, lost.near))
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
    ranks = [rank for record in lost.records if (rank := _rank(record)) is not None]
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


def _is_near(record: RecordLine, near: int) -> bool:
    rank = _rank(record)
    return rank is not None and rank <= near


def _rank(record: RecordLine) -> int | None:
    """Return where all evidence that retrieval lost is whole under exact search, if it is known."""
    ranks = [each.facts.exact_rank for each in record.passages if each.stage == "retrieval"]
    known = [rank for rank in ranks if rank is not None]
    return max(known) if known and len(known) == len(ranks) else None


def _reranking(lost: Lost) -> Iterator[Advice]:
    lost = lost.at("reranking")
    if not lost.records:
        return
    facts = [each.facts for each in lost.arrivals("reranking")]
    before = [each.rank for each in facts if each.rank is not None]
    after = [each.reranked for each in facts if each.reranked is not None]
    where = [f"rank {median(before):.0f} before"] if before else []
    where += [f"rank {median(after):.0f} after"] if after else []
    more = max(lost.sent + 1, _rounded(max(after, default=2 * lost.sent)))
    yield lost.advice(
        "Let more of the reranked list reach the prompt, or try another reranker",
        f"The evidence was retrieved, and is not among the first {lost.sent} after reranking "
        f"({', '.join(where) or 'ranks not known'}; medians).",
        "reranking",
        lost.context(more),
    )


def _context(lost: Lost) -> Iterator[Advice]:
    lost = lost.at("context")
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


def _generation(lost: Lost) -> Iterator[Advice]:
    lost = lost.at("generation")
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


def _answered_anyway(lost: Lost) -> Iterator[Advice]:
    given = lost.those(lambda record: record.answer is not None and not record.declined)
    if given.records:
        yield given.advice(
            "Add the missing sources, or let the generator decline",
            f"Nothing in the corpus answers these {lost.of:,} questions; {len(given.records):,} "
            "were answered all the same.",
            "generation",
        )


_WHATS = (
    _failed,
    _chunking,
    _index,
    _just_below,
    _far_down,
    _reranking,
    _context,
    _generation,
)


def _rounded(rank: int) -> int:
    """Return `rank` rounded up to a multiple of five."""
    return -(-rank // 5) * 5
