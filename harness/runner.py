"""One configuration from start to end; reads like the README."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from harness import (
    checks,
    cluster,
    corpus,
    findings,
    forecast,
    index,
    provenance,
    retrievers,
    runtime,
    sampling,
    testset,
)
from harness.cache import Cache, check_version
from harness.chunkers import Chunker, handed
from harness.chunking import chunk_texts
from harness.config import RunConfig
from harness.findings import Finding
from harness.fingerprint import fingerprint, identity_of
from harness.forecast import limit, words
from harness.index import Collected
from harness.metrics import Asking
from harness.models import token_counter
from harness.prepared import Prepared, Sampled
from harness.registry import label
from harness.report.charts.svg import check_room
from harness.running import Finished, Run
from harness.runwriter import RunWriter
from harness.spending import Spending
from harness.stages import Progress, Stages
from harness.stored import SampledLine
from harness.writing import check_writable


def prepare(
    config: RunConfig, limit: int | None = None, fresh: bool = False, today: date | None = None
) -> Prepared:
    """Read corpus and test set, and check them against the configuration.

    `limit` keeps the first so many questions; `fresh` converts every document anew. `today` is
    the UTC day whose sample is asked, where the configuration asks for one.

    Raises:
        InputError: with everything that is wrong with one of the files.
    """
    cluster.check(config)
    documents = corpus.load(config.corpus, config.cache, fresh)
    questions = testset.load(config.testset, documents)
    plan = checks.plan(config, questions)
    checks.strings(questions, documents, plan, config.testset.path)
    if "answer" in plan.kinds:
        for chunker in _chunkers(config):
            texts = chunk_texts(documents, chunker)
            checks.answers(questions, texts, label(chunker), config.testset.path)
        if config.systems:  # in how many of a system's chunks an answer stands is not known
            checks.answers(questions, (), "", config.testset.path)
    if limit is not None:
        first, of = questions.questions[:limit], len(questions.questions)
        id_ = fingerprint(questions.id, len(first))
        questions = replace(questions, questions=first, id=id_, of=of if len(first) < of else None)
    return _sampled(Prepared(config, documents, questions, plan), today)


def _sampled(whole: Prepared, today: date | None) -> Prepared:
    """Return what is prepared with the part of its questions that the configuration asks for."""
    settings = whole.config.settings
    ids = [each.id for each in whole.testset.questions]
    if settings.sample is None or settings.sample >= len(ids):
        return whole
    if settings.sample_seed == "date":
        day, seed = today or datetime.now(UTC).date(), settings.seed
        chosen = sampling.of_day(ids, settings.sample, seed, day)
        line = SampledLine(size=len(chosen), of=len(ids), seed=seed, day=day)
    else:
        seed = settings.sample_seed
        chosen = sampling.fixed(ids, settings.sample, seed)
        line = SampledLine(size=len(chosen), of=len(ids), seed=seed, day=None)
    wanted = set(chosen)
    asked = tuple(each for each in whole.testset.questions if each.id in wanted)
    part = replace(whole.testset, questions=asked)
    return replace(whole, testset=part, sample=Sampled(line, whole.testset))


def _chunkers(config: RunConfig) -> list[Chunker]:
    """Return what cuts documents into hits: nothing does where a collection is there already."""
    if config.settings.index.existing is not None:
        return []
    return list(dict.fromkeys(handed(cell.chunker) for cell in config.cells))


def check_models(prepared: Prepared) -> None:
    """Find every model that the run will need, and the server or the collection.

    Raises:
        HarnessError: one is missing, or a library or a key for it is.
    """
    if any(cell.retriever.uses_vectors for cell in prepared.config.cells):
        index.check(prepared.config.settings.index)
    for cell in prepared.config.cells:
        for chunker in (cell.chunker, handed(cell.chunker)):
            tokenizer = getattr(chunker, "tokenizer", None)
            if tokenizer is not None:
                token_counter(tokenizer)
            identity_of(chunker)
        for part in (cell.embedder, cell.reranker):
            if part is not None:
                identity_of(part)
        # The metadata of a collection are known once it has been read.
        existing = prepared.config.settings.index.existing
        retrievers.check(cell.retriever, None if existing else prepared.corpus.documents)
        cell.reranker.check()
        cell.generator.check()
    for own in prepared.config.systems:
        own.system.check()
    for named in prepared.plan.metrics:
        if isinstance(named.metric, Asking):
            named.metric.check()
        elif hasattr(named.metric, "identity"):
            named.metric.identity()


def run(
    prepared: Prepared,
    progress: Progress,
    fresh: bool = False,
    note: Callable[[str], None] = lambda text: None,
) -> Finished:
    """Run every cell over every question, store it, and write the reports.

    What the cache has is used, so that a run that was broken off goes on where it was, as `note`
    is told; not so with `fresh`.

    Raises:
        HarnessError: a model or the output folder is not there; nothing has been written.
        RunError: too many questions failed; what was done is stored, with its reports.
        KeyboardInterrupt: on Ctrl-C; what was done is stored, with its reports.
    """
    config = prepared.config
    check_room()
    check_writable(config.output, "output")
    check_writable(config.cache, "cache")
    check_version(config.cache)
    runtime.keep_in(config.cache / "models")
    check_models(prepared)
    with (
        cluster.machines(config, fresh) as machines,
        Cache(config.cache, fresh, machines.shared) as cache,
    ):
        questions = prepared.testset.questions
        prepared = replace(prepared, plan=prepared.plan.fitted(prepared.whole.questions))
        collection = _collection(prepared, cache, progress)
        stages = Stages(prepared.corpus, cache, prepared.plan, questions, progress, collection)
        clock = time.perf_counter()
        known = findings.found(prepared, stages, cache, collection, progress=progress)
        findings.refuse(known)
        found = [each for each in known if each.level == "warning"]
        for warning in found:  # whole, they stand at the end
            note(f"warning: {warning.brief}")
        warnings = [str(each) for each in found]
        ahead = forecast.forecast(prepared, True, cache, collection, fresh, progress)
        limit.refuse(ahead, config)
        for line in (*words.lines(ahead), *limit.budgeted(ahead, config.settings.token_budget)):
            note(line)
        bounds = (config.settings.max_cost, config.settings.token_budget)
        cache.spending = Spending(config.prices, *bounds)
        ran = machines.work(prepared, stages, cache, progress)
        about = provenance.provenance(config, prepared.corpus, prepared.whole, prepared.plan)
        if collection is not None:
            about = about.model_copy(update={"collection": collection.describe()})
        continues, content = provenance.shaped_by(config, about), about.model_dump(mode="json")
        if prepared.sample is not None:  # what another day asks continues nothing of this one's
            asked = [each.id for each in questions]
            continues, content = fingerprint(continues, asked), {**content, "asked": asked}
        labels = prepared.plan.labels
        with RunWriter(config.output, _new_id(content), labels, continues, fresh) as writer:
            if writer.resumed:
                note(f"continuing {writer.folder}")
            run = Run(prepared, stages, cache, writer, about, progress, warnings, clock, ran)
            return run.to_the_end()


def look_over(prepared: Prepared, progress: Progress) -> list[Finding]:
    """Return all that can be known of a run before anything is spent on it, errors first.

    Documents are cut into chunks, and the cache keeps them; an existing collection is read.

    Raises:
        HarnessError: a model, the collection or the cache cannot be used.
    """
    config = prepared.config
    check_writable(config.cache, "cache")
    check_version(config.cache)
    runtime.keep_in(config.cache / "models")
    with Cache(config.cache) as cache:
        collection = _collection(prepared, cache, progress)
        questions = prepared.testset.questions
        stages = Stages(prepared.corpus, cache, prepared.plan, questions, progress, collection)
        return findings.found(prepared, stages, cache, collection, deep=True, progress=progress)


def _collection(prepared: Prepared, cache: Cache, progress: Progress) -> Collected | None:
    """Return the existing collection that is searched; None where the run makes its index."""
    settings, config = prepared.config.settings, prepared.config
    if settings.index.existing is None:
        return None
    found = index.existing.opened(cache, settings.index.existing, prepared.corpus, progress)
    if "answer" in prepared.plan.kinds:
        texts = (chunk.text for chunk in found.chunks)
        name = settings.index.existing.collection
        checks.answers(prepared.testset, texts, name, config.testset.path)
    for cell in config.cells:
        retrievers.check(cell.retriever, found.chunks.described)
    for embedder in dict.fromkeys(cell.embedder for cell in config.cells):
        if embedder is not None:
            found.check(embedder, cache, settings.seed)
    return found


def _new_id(content: Mapping[str, Any]) -> str:
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{fingerprint(content)[:6]}"
