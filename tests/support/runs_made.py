"""Stored runs with scores that a test chose: nothing is retrieved or answered for them."""

from pathlib import Path

from harness.records import Failure, Outcome, Question, Score, Usage
from harness.stats.aggregate_scores import Aggregate
from harness.store.cell_results import CellResult
from harness.store.reader import StoredRun
from harness.store.run_file import MetricDescription, Provenance, RunFile


def stored(
    scores,
    chunkers=None,
    baseline=None,
    floors=(),
    metrics=None,
    tokens=None,
    seconds=None,
    clusters=None,
    resolved=None,
):
    """Return a run of these cells.

    `scores` is {cell: {metric: [a value, a list of counts, or None for failed]}}. `metrics` gives
    lines to change by metric, `tokens` and `seconds` a number or a list by cell.
    """
    names = list(next(iter(scores.values())))
    size = max((len(each) for by in scores.values() for each in by.values()), default=0)
    ids = [f"q{number}" for number in range(size)]
    about = {name: _metric(name, **(metrics or {}).get(name, {})) for name in names}
    provenance = Provenance(
        harness="0", python="3", platform="", git_commit=None, git_dirty=None, packages={},
        models=(), corpus={}, testset={}, metrics=about, seed=7, labels="evidence",
    )  # fmt: skip
    run = RunFile(
        id="made", status="finished", started="", ended="", provenance=provenance,
        config={"resolved": {"retrieve": 10, **(resolved or {})}}, decide_by=names[0],
        baseline=baseline, targets={},
        seconds={}, cache={}, warnings=(),
        cells=tuple(
            _cell(name, by, (chunkers or {}).get(name, "fixed"), name in floors)
            for name, by in scores.items()
        ),
    )  # fmt: skip
    records = [
        _record(
            cell,
            id_,
            {name: each[at] for name, each in by.items() if at < len(each)},
            _at(tokens, cell, at),
            _at(seconds, cell, at),
        )
        for cell, by in scores.items()
        for at, id_ in enumerate(ids)
        if at < len(by[names[0]])
    ]
    questions = {
        id_: Question(
            id=id_, text=id_, cluster=clusters[at] if clusters else None
        )
        for at, id_ in enumerate(ids)
    }  # fmt: skip
    return StoredRun(Path("made"), run, tuple(records), questions, {})


def _metric(name, kind="quality", within_chunker=False, spec=None):
    return MetricDescription(
        spec=spec or name, version=1, kind=kind, labels=None, own_chunks=within_chunker,
        within_chunker=within_chunker, about="",
    )  # fmt: skip


def _cell(name, by, chunker, floor):
    return CellResult(
        name=name, chunker=chunker, embedder=None, retriever=name, reranker="none",
        generator="extractive", fingerprint=name, chunks=1, floor=floor, copies=False, asked=1,
        answered=1, declined=0, failed=0, seconds={},
        scores={metric: _aggregate(values) for metric, values in by.items()},
    )  # fmt: skip


def _aggregate(values):
    known = [0.0 if each is None else each for each in values]
    numbers = [each for each in known if not isinstance(each, list)]
    mean = sum(numbers) / len(numbers) if numbers else None
    return Aggregate(
        mean=mean, mean_finished=mean, low=None, high=None, n=len(values), failed=0, not_scored=0,
        metric_failed=0, method="none",
    )  # fmt: skip


def _record(cell, question, values, tokens, seconds):
    failed = any(each is None for each in values.values())
    usage = None if tokens is None else Usage(tokens_in=tokens - 1, tokens_out=1)
    return Outcome(
        cell=cell, question=question, usage=usage, touching=None, hits=(), answer=None,
        declined=None, lost_at=None,
        seconds={} if seconds is None else {"retrieval": seconds / 4, "generation": seconds * 0.75},
        scores={name: _score(each) for name, each in values.items()},
        error=Failure(stage="generation", reason="gone") if failed else None,
    )  # fmt: skip


def _score(value):
    if value is None:
        return Score(value=None, reason="gone", state="failed")
    if isinstance(value, list):
        return Score(value=None, counts=tuple(value))
    return Score(value=value)


def _at(costs, cell, at):
    found = (costs or {}).get(cell)
    return found[at] if isinstance(found, list) else found
