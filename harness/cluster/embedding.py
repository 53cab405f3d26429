"""Texts to vectors on a cluster: Ray Data's batches, on actors that load the model once."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.asked_models import embedding_model
from harness.batches import batched
from harness.cache import Cache
from harness.chunkers import Chunker
from harness.cluster import nodes
from harness.cluster.connecting import imported
from harness.cluster.job import Workplace
from harness.cluster.nodes import Node
from harness.cluster.tasks import at_work, attempted
from harness.embedders import Embedder, Kind, Shortens
from harness.errors import HarnessError, RunError
from harness.prepared import Prepared
from harness.records import Question
from harness.stages import Stages
from harness.vectors import Texts

_RANGE = 1_024
"""Texts of a batch: as many as are kept together."""
_BLOCKS = 1_000
_AGAIN = 3
"""How often a batch is tried once more whose process died, as Ray does with other work."""


@dataclass(frozen=True)
class Wanted:
    """Texts that have no vectors: the questions, or chunks from `start` to `stop`."""

    work: str
    chunker: Chunker | None
    start: int
    stop: int


@dataclass(frozen=True)
class Embedded:
    """One batch that has been embedded, where, and how long that took."""

    wanted: Wanted
    node: str
    seconds: float


def embedders(prepared: Prepared) -> dict[Embedder, dict[Chunker, str]]:
    """Return each whole embedder that runs elsewhere, with the chunks it embeds and their name.

    What a collection that is there already has for vectors is made by nobody.
    """
    found: dict[Embedder, dict[Chunker, str]] = {}
    for cell in prepared.config.cells:
        embedder = cell.embedder
        if embedder is None or not cell.retriever.uses_vectors or not embedder.kept:
            continue
        if embedding_model(embedder) is None:
            whole = embedder.whole() if isinstance(embedder, Shortens) else embedder
            labels = cell.labels()
            name = f"embedding {labels['chunker']} with {labels['embedder']}"
            chunks = found.setdefault(whole, {})
            if prepared.config.settings.index.existing is None:
                chunks.setdefault(cell.chunker, name)
    return found


def missing(
    embedder: Embedder,
    chunkers: Mapping[Chunker, str],
    stages: Stages,
    cache: Cache,
    questions: Sequence[Question],
) -> list[Wanted]:
    """Return what of an embedder's work is not in the store yet."""
    texts, found = Texts(embedder, cache), list[Wanted]()
    for numbers in batched(range(len(questions)), _RANGE):
        if texts.missing([questions[number].text for number in numbers], "query"):
            found.append(Wanted("embedding questions", None, numbers[0], numbers[-1] + 1))
    for chunker, name in chunkers.items():
        chunks = stages.chunks(chunker)
        for numbers in batched(range(len(chunks)), _RANGE):
            some = [chunks[number].indexed_text for number in numbers]
            if texts.missing(some, "document"):
                found.append(Wanted(name, chunker, numbers[0], numbers[-1] + 1))
    return found


def embedded(
    id_: str, ref: Any, embedder: Embedder, wanted: Sequence[Wanted], actors: int, card: bool
) -> Iterator[Embedded]:
    """Yield each batch as it is done.

    Raises:
        RunError: a machine cannot embed.
    """
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # errors are raised
    rows = [{"at": at} for at in range(len(wanted))]
    with warnings.catch_warnings():  # of bounds that have no other name yet
        warnings.simplefilter("ignore", DeprecationWarning)
        made = ray.data.from_items(rows, override_num_blocks=min(len(rows), _BLOCKS)).map_batches(
            Encoder,
            fn_constructor_args=(id_, [ref], embedder, list(wanted)),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=min(actors, len(rows))),
            num_cpus=1,
            num_gpus=1 if card else 0,
            max_restarts=_AGAIN,  # else without end
            max_task_retries=_AGAIN,
        )
    with attempted(wanted[0].work):
        for row in made.iter_rows():
            if row["error"]:
                raise RunError(row["error"])
            yield Embedded(wanted[row["at"]], row["node"], row["seconds"])


class Encoder:
    """An actor that embeds one batch after the other."""

    def __init__(
        self, id_: str, refs: Sequence[Any], embedder: Embedder, wanted: Sequence[Wanted]
    ) -> None:
        self._id, self._refs, self._embedder, self._wanted = id_, refs, embedder, wanted

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return what became of each row: where it was done, how long it took, why it was not."""
        node = imported().get_runtime_context().get_node_id()
        seconds, errors = [], []
        for at in batch["at"]:
            began = time.perf_counter()
            errors.append(self._embed(self._wanted[at]))
            seconds.append(time.perf_counter() - began)
        at = list(batch["at"])
        return {"at": at, "node": [node] * len(at), "seconds": seconds, "error": errors}

    def _embed(self, wanted: Wanted) -> str:
        try:
            place = at_work(self._id, self._refs)
            place.cache.refresh()
            texts, kind = _texts(place, wanted)
            Texts(self._embedder, place.cache).embed(texts, kind)
            place.cache.flush()
        except (HarnessError, OSError) as error:
            return str(error) or type(error).__name__
        return ""


def _texts(place: Workplace, wanted: Wanted) -> tuple[list[str], Kind]:
    if wanted.chunker is None:
        asked = place.job.questions[wanted.start : wanted.stop]
        return [each.text for each in asked], "query"
    chunks = place.stages.chunks(wanted.chunker)
    return [chunks[number].indexed_text for number in range(wanted.start, wanted.stop)], "document"


def actors(found: Sequence[Node], asked: int | None) -> tuple[int, bool]:
    """Return how many actors embed, and whether each has a card of its own."""
    cards = sum(each.gpus for each in found) if nodes.share() else 0
    return asked or cards or len(found), cards > 0
