"""Pieces of the grid: each makes what one of its parts needs, and puts it into the shared store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from harness.cluster import job as jobs
from harness.cluster import placing
from harness.cluster.connecting import imported
from harness.cluster.job import Job, Workplace
from harness.errors import HarnessError, RunError
from harness.pipeline import outcomes
from harness.prepared import Prepared
from harness.retrievers import retrievers
from harness.sweep import Cell

_SLICE = 256
"""Questions that a cell asks together: so a piece has a multiple of it."""


@dataclass(frozen=True)
class Piece:
    """An index (`stop` is 0), or a part of a cell over the questions from `start` to `stop`."""

    cell: Cell
    start: int = 0
    stop: int = 0
    scored: bool = False

    @property
    def name(self) -> str:
        """What progress calls the work that it is a part of."""
        labels = self.cell.labels()
        index = f"indexing {labels['chunker']} with {labels['embedder']}"
        return self.cell.name if self.stop else index


@dataclass(frozen=True)
class Done:
    """What a piece came to: where it was made, and the seconds by stage."""

    node: str
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class Refused:
    """Why a piece cannot be made anywhere: an error that is meant for the user."""

    node: str
    text: str


def pieces(prepared: Prepared, cpus: int) -> dict[Piece, list[Piece]]:
    """Return every piece that goes to the cluster, with those that must be done before it."""
    found: dict[Piece, list[Piece]] = {}
    many, settings = len(prepared.testset.questions), prepared.config.settings.index
    size = max(1, -(-many // (cpus * _SLICE))) * _SLICE
    for cell in prepared.config.cells:
        parts = placing.parts(cell, settings)
        before: list[list[Piece]] = [[] for _ in range(0, many, size)]
        if parts and cell.retriever.uses_vectors:
            index = Piece(_indexed(parts[0]))
            found.setdefault(index, [])
            before = [[index] for _ in before]
        for part in parts:
            for at, start in enumerate(range(0, many, size)):
                stop = min(start + size, many)
                piece = Piece(part, start, stop, scored=part == cell)
                found.setdefault(piece, before[at])
                before[at] = [piece]
    return found


def _indexed(bare: Cell) -> Cell:
    """Return what has the same index, whichever retriever reads it."""
    return replace(bare, retriever=retrievers.build("dense"))


def made(id_: str, refs: Sequence[Any], piece: Piece) -> Done | Refused:
    """Make a piece in this process of the cluster."""
    node = imported().get_runtime_context().get_node_id()
    try:
        place = at_work(id_, refs)
        before = Counter(place.stages.ledger.seconds)
        place.cache.refresh()
        _make(place, piece)
        place.cache.flush()
        spent = Counter(place.stages.ledger.seconds)
        spent.subtract(before)
        return Done(node, {stage: took for stage, took in spent.items() if took > 0})
    except (HarnessError, OSError) as error:
        return Refused(node, str(error))


@contextmanager
def attempted(work: str) -> Iterator[None]:
    """Turn the death of processes that do this work into an error that is meant for the user.

    Raises:
        RunError: they died each time; a fault of the harness keeps its traceback.
    """
    ray = imported()
    try:
        yield
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        why = str(error).strip().splitlines()[0]
        raise RunError(
            f"{work}: a process of the cluster died each time it was tried: {why}\n"
            "  what was done is kept, and the same command continues; does it need more memory?"
        ) from None


def at_work(id_: str, refs: Sequence[Any]) -> Workplace:
    """Return this process's workplace; the job is fetched once."""
    known = jobs.known(id_)
    if known is not None:
        return known
    job: Job = imported().get(refs[0])
    return jobs.workplace(job)


def _make(place: Workplace, piece: Piece) -> None:
    if not piece.stop:
        place.stages.measured(piece.cell)
        return
    plan = place.job.plan
    plan = placing.scored(plan) if piece.scored else placing.unscored(plan)
    questions = place.job.questions[piece.start : piece.stop]
    for _ in outcomes(piece.cell, questions, place.stages, plan):
        pass


def ready(waiting: Mapping[Piece, Sequence[Piece]], done: set[Piece]) -> Iterator[Piece]:
    """Yield the pieces that nothing is to be waited for any more."""
    return (each for each, before in waiting.items() if done.issuperset(before))
