"""Prepares, opens and runs one configuration."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, date, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from harness import index
from harness.cache.folders import Cache, check_version
from harness.cache.tables import ReplyAge
from harness.chunkers import hit_chunker
from harness.config import data_checks
from harness.config.resolved import RunConfig
from harness.errors import MissingExtra
from harness.files.atomic import check_writable
from harness.fingerprint import fingerprint, identity_of
from harness.index import Collections
from harness.metrics import asks_judge
from harness.models import runtime
from harness.models.model_files import token_counter
from harness.runs import provenance, run_inputs
from harness.runs.active_run import OpenRun, unfinished_runs
from harness.runs.artefacts import Artefacts, Progress
from harness.runs.run_inputs import RunInputs, SampledQuestions
from harness.store.run_file import QuestionSample

if TYPE_CHECKING:
    from harness.runs.cluster import Machines


def prepare(
    config: RunConfig, limit: int | None = None, fresh: bool = False, today: date | None = None
) -> RunInputs:
    """Read corpus and test set, and check them against the configuration.

    `limit` keeps the first so many questions; `fresh` converts every document again. `today` is
    the UTC day whose sample is asked, where the configuration asks for one.

    Raises:
        InputError: with everything that is wrong with the files.
    """
    if config.settings.execution is not None and find_spec("ray") is None:
        raise MissingExtra("`execution` on a cluster", "ray", "ray")
    documents, questions = data_checks.read_data(config, fresh)
    plan = data_checks.build_plan(config, questions, documents)
    if limit is not None:
        first, of = questions.questions[:limit], len(questions.questions)
        id_ = fingerprint(questions.id, len(first))
        questions = replace(questions, questions=first, id=id_, of=of if len(first) < of else None)
    return _draw_sample(RunInputs(config, documents, questions, plan), today)


def _draw_sample(prepared: RunInputs, today: date | None) -> RunInputs:
    """Return what is prepared with the part of its questions that the configuration asks for."""
    settings, ids = prepared.config.settings, prepared.ids
    if settings.sample is None or settings.sample >= len(ids):
        return prepared
    day, seed = None, settings.seed
    if settings.sample_seed == "date":
        day = today or datetime.now(UTC).date()
        chosen = run_inputs.sample_of_day(ids, settings.sample, seed, day)
    else:
        seed = settings.sample_seed
        chosen = run_inputs.fixed_sample(ids, settings.sample, seed)
    chosen_ids = set(chosen)
    line = QuestionSample(size=len(chosen), of=len(ids), seed=seed, day=day)
    questions = tuple(
        question for question in prepared.testset.questions if question.id in chosen_ids
    )
    part = replace(prepared.testset, questions=questions)
    return replace(prepared, testset=part, sample=SampledQuestions(line, prepared.testset))


def check_models(prepared: RunInputs) -> None:
    """Find every model that the run will need, and the server or the collection.

    Raises:
        HarnessError: one is missing, or a library or a key for it is.
    """
    if any(cell.retriever.uses_vectors for cell in prepared.config.cells):
        index.check(prepared.config.settings.index)
    for cell in prepared.config.cells:
        for chunker in (cell.chunker, hit_chunker(cell.chunker)):
            tokenizer = getattr(chunker, "tokenizer", None)
            if tokenizer is not None:
                token_counter(tokenizer)
            identity_of(chunker)
        for part in (cell.embedder, cell.reranker):
            if part is not None:
                identity_of(part)
        # The metadata of a collection are known once it has been read.
        existing = prepared.config.settings.index.existing
        cell.retriever.check(None if existing else prepared.corpus.documents)
        cell.reranker.check()
        cell.generator.check()
    for cell_of_system in prepared.config.systems:
        cell_of_system.system.check()
    for named in prepared.plan.metrics:
        metric: Any = named.metric
        if asks_judge(metric):
            metric.check()
        elif hasattr(metric, "identity"):
            metric.identity()


@contextmanager
def open_run(prepared: RunInputs, progress: Progress, fresh: bool = False) -> Iterator[OpenRun]:
    """Open a run: its models, folders, machines, cache and, if there is one, its collection.

    What the cache has is used, so that a run that was broken off goes on where it was; not so with
    `fresh`.

    Raises:
        HarnessError: a model or the output folder is not there; nothing has been written.
    """
    config = prepared.config
    check_writable(config.output, "output")
    _check_cache(config)
    check_models(prepared)
    with (
        _open_machines(config, fresh) as machines,
        Cache(config.cache, fresh, None if machines is None else machines.store) as cache,
    ):
        questions = prepared.testset.questions
        prepared = replace(prepared, plan=prepared.plan.fit(prepared.whole.questions))
        collections = _open_collections(prepared, cache, progress)
        artefacts = Artefacts(
            prepared.corpus, cache, prepared.plan, questions, progress, collections
        )
        clock = time.perf_counter()
        about = provenance.collect_provenance(
            config, prepared.corpus, prepared.whole, prepared.plan
        )
        if collections is not None:
            about = replace(about, collection=collections.describe())
        continues = provenance.records_fingerprint(config, about)
        if prepared.sample is not None:  # what another day asks continues nothing of this one's
            continues = fingerprint(continues, [question.id for question in questions])
        began = unfinished_runs(cache).get([continues]).get(continues, 0.0)
        cache.replies.age = ReplyAge(began or time.time(), config.settings.reuses)
        yield OpenRun(
            prepared, artefacts, cache, collections, machines, fresh, clock, about, continues
        )


def _open_machines(config: RunConfig, fresh: bool) -> AbstractContextManager[Machines | None]:
    """Give the machines of `execution`; None: the run does everything itself."""
    if config.settings.execution is None:
        return nullcontext()
    from harness.runs.cluster import open_machines

    return open_machines(config, config.settings.execution.ray, fresh)


@contextmanager
def open_for_check(
    prepared: RunInputs, progress: Progress
) -> Iterator[tuple[Artefacts, Cache, Collections | None]]:
    """Open what a check of a run looks at: its artefacts, its cache and its collection.

    Raises:
        HarnessError: the collection or the cache cannot be used.
    """
    config = prepared.config
    _check_cache(config)
    with Cache(config.cache) as cache:
        collections = _open_collections(prepared, cache, progress)
        questions = prepared.testset.questions
        artefacts = Artefacts(
            prepared.corpus, cache, prepared.plan, questions, progress, collections
        )
        yield artefacts, cache, collections


def _check_cache(config: RunConfig) -> None:
    check_writable(config.cache, "cache")
    check_version(config.cache)
    runtime.keep_in(config.cache)


def _open_collections(prepared: RunInputs, cache: Cache, progress: Progress) -> Collections | None:
    """Return the existing collections that are searched; None where the run makes its index."""
    settings, config = prepared.config.settings, prepared.config
    if settings.index.existing is None:
        return None
    collections = index.existing.open_existing(
        cache, settings.index.existing, prepared.corpus, progress
    )
    for cell in config.cells:
        cell.retriever.check(collections[cell.chunker.name].chunks.filterable)
    for name, embedder in dict.fromkeys(
        (cell.chunker.name, cell.embedder) for cell in config.cells
    ):
        if embedder is not None:
            collections[name].check(embedder, cache, settings.seed)
    return collections
