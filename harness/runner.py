"""One configuration from start to end; reads like the README."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Literal

from harness import (
    asking,
    cautions,
    checks,
    corpus,
    index,
    provenance,
    report,
    retrievers,
    runtime,
    store,
    summarise,
    testset,
)
from harness.cache import Cache, check_version
from harness.chunkers import Chunker, handed
from harness.chunking import chunk_texts
from harness.clusters import clusters
from harness.config import RunConfig
from harness.corpus import Corpus
from harness.errors import HarnessError, RunError
from harness.fingerprint import fingerprint, identity_of
from harness.index import Collected
from harness.kept import Measured
from harness.metrics import Asking
from harness.models import token_counter
from harness.pipeline import outcomes
from harness.plan import Plan
from harness.records import Failure
from harness.registry import label
from harness.stages import Progress, Stages
from harness.store import RunWriter
from harness.stored import CellLine, IndexRecallLine, MatchedLine, Provenance, RecordLine, RunFile
from harness.sweep import Cell, SystemCell
from harness.testset import Testset

Status = Literal["finished", "interrupted", "failed"]


@dataclass(frozen=True)
class Prepared:
    """A configuration with its data read and everything checked: nothing is spent yet."""

    config: RunConfig
    corpus: Corpus
    testset: Testset
    plan: Plan

    @cached_property
    def clusters(self) -> Mapping[str, str] | None:
        """The cluster of each question, where the configuration asks for them."""
        wanted = self.config.settings.clusters
        return clusters(self.testset.questions) if wanted else None


@dataclass(frozen=True)
class Finished:
    """What a run came to."""

    folder: Path
    run: RunFile


def prepare(config: RunConfig, limit: int | None = None, fresh: bool = False) -> Prepared:
    """Read corpus and test set, and check them against the configuration.

    `limit` keeps the first so many questions; `fresh` converts every document anew.

    Raises:
        InputError: with everything that is wrong with one of the files.
    """
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
        first = questions.questions[:limit]
        questions = replace(questions, questions=first, id=fingerprint(questions.id, len(first)))
    return Prepared(config, documents, questions, plan)


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
    store.check_writable(config.output, "output")
    store.check_writable(config.cache, "cache")
    check_version(config.cache)
    runtime.keep_in(config.cache / "models")
    check_models(prepared)
    with Cache(config.cache, fresh) as cache:
        questions = prepared.testset.questions
        prepared = replace(prepared, plan=prepared.plan.fitted(questions))
        collection = _collection(prepared, cache, progress)
        stages = Stages(prepared.corpus, cache, prepared.plan, questions, progress, collection)
        about = provenance.provenance(config, prepared.corpus, prepared.testset, prepared.plan)
        if collection is not None:
            about = about.model_copy(update={"collection": collection.describe()})
        continues = provenance.shaped_by(config, about)
        labels = prepared.plan.labels
        with RunWriter(config.output, _new_id(about), labels, continues, fresh) as writer:
            if writer.resumed:
                note(f"continuing {writer.folder}")
            return _Run(prepared, stages, cache, writer, about, progress).to_the_end()


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
    for warning in found.warnings:
        cache.warn(warning)
    return found


class _Run:
    """The state of one run while it goes on."""

    def __init__(
        self,
        prepared: Prepared,
        stages: Stages,
        cache: Cache,
        writer: RunWriter,
        about: Provenance,
        progress: Progress,
    ) -> None:
        self.prepared = prepared
        self.stages = stages
        self.cache = cache
        self.writer = writer
        self.about = about
        self.progress = progress
        self.started = _now()
        self.clock = time.perf_counter()
        self.lines: list[CellLine] = []
        self.truncated: dict[str, str] = {}
        self.shallow = cautions.Shallow(prepared.plan)

    def to_the_end(self) -> Finished:
        """Go through the cells; whatever ends the run, what was done is stored."""
        try:
            for cell in self.prepared.config.cells:
                self._cell(cell)
            for own in self.prepared.config.systems:
                self._cell(own)
            return self._store("finished")
        except KeyboardInterrupt:
            self._store_what_there_is("interrupted")
            raise
        except HarnessError:
            self._store_what_there_is("failed")
            raise
        except OSError as error:
            self._store_what_there_is("failed")
            raise RunError(f"the run cannot go on: {error}") from error

    def _cell(self, cell: Cell | SystemCell) -> None:
        """Ask every question in one cell; of its records only what sums them up stays in memory."""
        questions = self.prepared.testset.questions
        records: list[RecordLine] = []
        done = failed = 0
        imported = isinstance(cell, SystemCell) and cell.system.imported

        def answered(question: str, failure: Failure | None) -> None:
            nonlocal done, failed
            done, failed = done + 1, failed + (failure is not None)
            self.progress(cell.name, done, len(questions))
            if failure is not None and not imported:
                self._stop_if_hopeless(
                    cell, f"question {question!r}: {failure.reason}", failed, done
                )

        try:
            plan = self.prepared.plan
            if isinstance(cell, SystemCell):
                made = asking.outcomes(cell, questions, self.stages, plan, answered)
            else:
                made = outcomes(cell, questions, self.stages, plan, answered)
            for outcome in made:
                records.append(self.writer.append(outcome))
        finally:
            if records:
                self._sum_up(cell, records)
        self.stages.done(cell)

    def _sum_up(self, cell: Cell | SystemCell, records: Sequence[RecordLine]) -> None:
        whole = len(records) == len(self.prepared.testset.questions)
        measured = self.stages.measured(cell) if whole and isinstance(cell, Cell) else None
        if measured is not None and measured.truncated:
            labels = cell.labels()
            work = f"embedding {labels['chunker']} with {labels['embedder']}"
            self.truncated[work] = (
                f"{work}: {measured.truncated} chunks are longer than the model reads; "
                "their ends are not in the index"
            )
        if isinstance(cell, SystemCell) and cell.system.imported:
            for said in cautions.of_missing(cell.name, records):
                self.cache.warn(said)
        self.shallow.add(records)
        with self.stages.ledger.timed("summing up"):
            self.lines.append(self._line(cell, records, measured))

    def _stop_if_hopeless(self, cell: Cell | SystemCell, last: str, failed: int, done: int) -> None:
        bound = self.prepared.config.settings.max_failures
        allowed = bound if bound >= 1 else bound * len(self.prepared.testset.questions)
        if failed > allowed:
            raise RunError(
                f"cell {cell.name}, {last}\n"
                f"  {failed} of {done} questions failed, more than "
                f"`max_failures: {bound:g}` allows; what was done is in {self.writer.folder}, "
                "and the same command continues from there"
            )

    def _store_what_there_is(self, status: Status) -> None:
        # Where this fails too, what ended the run is the better thing to say.
        with suppress(OSError, HarnessError):
            self._store(status)

    def _store(self, status: Status) -> Finished:
        if not self.writer.started:
            return Finished(self.writer.folder, self._file(status))
        self.writer.questions(self.prepared.testset.questions, self.prepared.clusters)
        self.writer.documents(self.prepared.corpus.converted())
        file = self._file(status)
        self.writer.finish(file)
        report.write(self.writer.folder)
        if status == "finished":
            self.writer.close()
        return Finished(self.writer.folder, file)

    def _file(self, status: Status) -> RunFile:
        prepared, config = self.prepared, self.prepared.config
        return RunFile(
            schema=1,
            id=self.writer.id,
            status=status,
            started=self.started,
            ended=_now(),
            config=provenance.resolved(config),
            provenance=self.about,
            cells=self.lines,
            decide_by=config.decide_by,
            baseline=None if config.baseline is None else config.baseline.name,
            targets=dict(config.settings.targets),
            seconds={**self.stages.ledger.seconds, "all": time.perf_counter() - self.clock},
            cache=self.cache.counted(),
            warnings=[
                *self.truncated.values(),
                *cautions.of_embedders(config.cells),
                *cautions.of_indexes(self.lines),
                *(each for cell in config.systems for each in self._lost(cell)),
                *cautions.of_data(prepared.corpus, prepared.testset, prepared.clusters),
                *self.shallow.said(),
                *self.cache.warnings,
            ],
        )

    def _lost(self, cell: SystemCell) -> Iterator[str]:
        return cautions.of_matching(cell.name, self.stages.matched(cell))

    def _line(
        self, cell: Cell | SystemCell, records: Sequence[RecordLine], measured: Measured | None
    ) -> CellLine:
        labels = cell.labels()
        settings = self.prepared.config.settings
        return CellLine(
            name=cell.name,
            chunker=str(labels["chunker"]),
            embedder=labels["embedder"],
            retriever=str(labels["retriever"]),
            reranker=str(labels["reranker"]),
            generator=str(labels["generator"]),
            fingerprint=self.stages.identity(cell),
            chunks=0 if isinstance(cell, SystemCell) else len(self.stages.chunks(cell.chunker)),
            index_recall=None
            if measured is None or measured.recall is None
            else IndexRecallLine(**asdict(measured.recall)),
            floor=isinstance(cell, Cell) and cell.embedder is not None and cell.embedder.floor,
            copies=isinstance(cell, Cell) and cell.generator.copies,
            asked=len(records),
            answered=sum(record.answer is not None for record in records),
            declined=sum(bool(record.declined) for record in records),
            failed=sum(record.error is not None for record in records),
            seconds=summarise.mean_seconds(records),
            scores=summarise.aggregated(
                records, self.prepared.plan.metrics, settings.seed, self.prepared.clusters
            ),
            matched=self._matched(cell),
            spread=summarise.spread(records),
        )

    def _matched(self, cell: Cell | SystemCell) -> MatchedLine | None:
        found = asdict(self.stages.matched(cell))
        del found["example"]
        return MatchedLine(**found) if found["contexts"] else None


def _new_id(about: Provenance) -> str:
    content = fingerprint(about.model_dump(mode="json"))
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{content[:6]}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
