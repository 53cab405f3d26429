"""A run's machines: joined, looked over, and given their work in the order of the fingerprints."""

from __future__ import annotations

import os
import secrets
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from harness.cache import Cache
from harness.cluster import embedding, job, nodes, placing, tasks
from harness.cluster.connecting import connected, imported
from harness.cluster.job import Job
from harness.cluster.tasks import Done, Piece, Refused
from harness.config import RunConfig
from harness.errors import RunError
from harness.execution import OnRay
from harness.prepared import Prepared
from harness.runtime import choice
from harness.shared import Shared
from harness.stages import Progress, Stages
from harness.stored import RanLine

_IN_FLIGHT = 4
"""Pieces handed out for each processor: more would only wait there, and be lost together."""


@contextmanager
def opened(config: RunConfig, settings: OnRay, fresh: bool) -> Iterator[Cluster]:
    """Give the machines of a cluster."""
    url = settings.store or os.path.abspath(config.cache / "shared")
    if fresh:  # nothing that was there before is found in a place of its own
        url = f"{url.rstrip('/')}/fresh-{secrets.token_hex(8)}"
    shared = Shared(url)
    try:
        with connected(settings):
            yield Cluster(settings, shared)
    finally:
        if fresh:  # no other run finds it
            with suppress(OSError):
                shared.clear()


class Cluster:
    """The machines of a cluster."""

    def __init__(self, settings: OnRay, shared: Shared) -> None:
        self.shared: Shared | None = shared
        self._settings = settings
        self._store = shared
        self._nodes = nodes.usable(nodes.nodes())
        self._names = {each.id: each.name for each in self._nodes}
        self._seconds: dict[tuple[str, str], float] = defaultdict(float)
        self._tasks: Counter[tuple[str, str]] = Counter()

    def work(
        self, prepared: Prepared, stages: Stages, cache: Cache, progress: Progress
    ) -> list[RanLine]:
        """Do what can be done elsewhere, and return what ran where.

        Raises:
            RunError: a machine cannot do its part, or a piece of work failed everywhere.
        """
        plan, index = prepared.plan, prepared.config.settings.index
        cells = [part for cell in prepared.config.cells for part in placing.parts(cell, index)]
        metrics = [each.metric for each in placing.scored(plan).metrics]
        parts = nodes.needed(cells, metrics)
        nodes.check(self._nodes, self._store, self._store.url, parts)
        job.publish(cache, prepared.corpus)
        sent = Job(
            id=secrets.token_hex(8),
            store=self._store.url,
            scratch=self._settings.scratch,
            folder=os.getcwd(),
            path=tuple(sys.path),
            corpus=prepared.corpus.id,
            plan=plan,
            questions=prepared.testset.questions,
            choices=choice.used(),
        )
        ref = imported().put(sent)
        self._embed(sent, ref, prepared, stages, cache, progress)
        self._make(sent, ref, prepared, progress)
        cache.refresh()
        return self._ran()

    def _embed(
        self,
        sent: Job,
        ref: Any,
        prepared: Prepared,
        stages: Stages,
        cache: Cache,
        progress: Progress,
    ) -> None:
        many, card = embedding.actors(self._nodes, self._settings.encoders)
        for embedder, chunkers in embedding.embedders(prepared).items():
            wanted = embedding.missing(embedder, chunkers, stages, cache, sent.questions)
            cache.flush()
            if not wanted:
                continue
            totals, done = Counter[str](), Counter[str]()
            for each in wanted:
                totals[each.work] += each.stop - each.start
            for made in embedding.embedded(sent.id, ref, embedder, wanted, many, card):
                work = made.wanted.work
                done[work] += made.wanted.stop - made.wanted.start
                progress(work, done[work], totals[work])
                self._note(made.node, {"embedding": made.seconds})
            cache.refresh()

    def _make(self, sent: Job, ref: Any, prepared: Prepared, progress: Progress) -> None:
        """Make every piece of the grid, each after those that it needs."""
        ray = imported()
        cpus = max(1, sum(each.cpus for each in self._nodes))
        waiting = tasks.pieces(prepared, cpus)
        totals, done = Counter[str](), Counter[str]()
        for piece in waiting:
            totals[piece.name] += _size(piece)
        made = ray.remote(num_cpus=1, num_gpus=nodes.share())(tasks.made)
        finished: set[Piece] = set()
        flying: dict[Any, Piece] = {}
        try:
            while waiting or flying:
                for piece in list(tasks.ready(waiting, finished)):
                    if len(flying) >= _IN_FLIGHT * cpus:
                        break
                    flying[made.remote(sent.id, [ref], piece)] = piece
                    del waiting[piece]
                (ref_done, *_), _ = ray.wait(list(flying), num_returns=1)
                piece = flying.pop(ref_done)
                with tasks.attempted(piece.name):
                    self._took(ray.get(ref_done))
                finished.add(piece)
                done[piece.name] += _size(piece)
                progress(f"{piece.name}, on the cluster", done[piece.name], totals[piece.name])
        finally:
            _cancel(ray, flying)

    def _took(self, found: Done | Refused) -> None:
        if isinstance(found, Refused):
            raise RunError(f"machine {self._names.get(found.node, found.node)}: {found.text}")
        self._note(found.node, found.seconds)

    def _note(self, node: str, seconds: Any) -> None:
        name = self._names.get(node, node[:12])
        for stage, took in seconds.items():
            self._seconds[stage, name] += took
            self._tasks[stage, name] += 1

    def _ran(self) -> list[RanLine]:
        return [
            RanLine(stage=stage, node=node, tasks=self._tasks[stage, node], seconds=took)
            for (stage, node), took in self._seconds.items()
        ]


def _size(piece: Piece) -> int:
    return piece.stop - piece.start or 1


def _cancel(ray: Any, flying: Iterable[Any]) -> None:
    for each in flying:
        ray.cancel(each)
