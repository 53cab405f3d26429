"""One configuration from start to end; reads like the README."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Literal

from harness import checks, corpus, provenance, report, store, summarise, testset
from harness.chunking import cut
from harness.clusters import clusters
from harness.config import RunConfig
from harness.corpus import Corpus
from harness.errors import HarnessError, RunError
from harness.fingerprint import fingerprint
from harness.models import token_counter
from harness.pipeline import outcomes
from harness.plan import Plan
from harness.registry import label
from harness.scoring import label_of
from harness.stages import Progress, Stages
from harness.store import RunWriter
from harness.stored import CellLine, Provenance, RecordLine, RunFile
from harness.sweep import Cell
from harness.testset import Testset

Status = Literal["finished", "interrupted", "failed"]
_FEW = 50
_FEW_CLUSTERS = 20


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


def prepare(config: RunConfig, limit: int | None = None) -> Prepared:
    """Read corpus and test set, and check them against the configuration.

    `limit` keeps the first so many questions.

    Raises:
        InputError: with everything that is wrong with one of the files.
    """
    documents = corpus.load(config.corpus)
    questions = testset.load(config.testset, documents)
    plan = checks.plan(config, questions)
    checks.strings(questions, documents, plan, config.testset.path)
    if "answer" in plan.kinds:
        for chunker in dict.fromkeys(cell.chunker for cell in config.cells):
            chunks = list(cut(documents, chunker))
            checks.answers(questions, chunks, label(chunker), config.testset.path)
    if limit is not None:
        first = questions.questions[:limit]
        questions = replace(questions, questions=first, id=fingerprint(questions.id, len(first)))
    return Prepared(config, documents, questions, plan)


def check_models(prepared: Prepared) -> None:
    """Find every model that the run will need.

    Raises:
        HarnessError: one is missing, or a library or a key for it is.
    """
    for cell in prepared.config.cells:
        tokenizer = getattr(cell.chunker, "tokenizer", None)
        if tokenizer is not None:
            token_counter(tokenizer)
        if cell.embedder is not None:
            cell.embedder.identity()
        cell.generator.check()
    for named in prepared.plan.metrics:
        if hasattr(named.metric, "identity"):
            named.metric.identity()


def run(prepared: Prepared, progress: Progress) -> Finished:
    """Run every cell over every question, store it, and write the reports.

    Raises:
        HarnessError: a model or the output folder is not there; nothing has been written.
        RunError: too many questions failed; what was done is stored, with its reports.
        KeyboardInterrupt: on Ctrl-C; what was done is stored, with its reports.
    """
    config = prepared.config
    store.check_writable(config.output, "output")
    store.check_writable(config.cache, "cache")
    check_models(prepared)
    plan = prepared.plan.fitted(prepared.testset.questions)
    prepared = replace(prepared, plan=plan)
    stages = Stages(
        prepared.corpus, config.cache, config.settings.index, config.settings.min_overlap, progress
    )
    about = provenance.provenance(config, prepared.corpus, prepared.testset, prepared.plan)
    with RunWriter(config.output, _new_id(about), prepared.plan.labels) as writer:
        return _Run(prepared, stages, writer, about, progress).to_the_end()


class _Run:
    """The state of one run while it goes on."""

    def __init__(
        self,
        prepared: Prepared,
        stages: Stages,
        writer: RunWriter,
        about: Provenance,
        progress: Progress,
    ) -> None:
        self.prepared = prepared
        self.stages = stages
        self.writer = writer
        self.about = about
        self.progress = progress
        self.started = _now()
        self.clock = time.perf_counter()
        self.records: dict[Cell, list[RecordLine]] = {cell: [] for cell in prepared.config.cells}

    def to_the_end(self) -> Finished:
        """Go through the cells; whatever ends the run, what was done is stored."""
        try:
            for cell in self.prepared.config.cells:
                self._cell(cell)
            return self._store("finished")
        except KeyboardInterrupt:
            self._store("interrupted")
            raise
        except HarnessError:
            self._store("failed")
            raise
        except OSError as error:
            with suppress(OSError):  # what cannot be written now is what ended the run
                self._store("failed")
            raise RunError(f"the run cannot go on: {error}") from error

    def _cell(self, cell: Cell) -> None:
        questions = self.prepared.testset.questions
        stages, plan = self.stages, self.prepared.plan
        for done, outcome in enumerate(outcomes(cell, questions, stages, plan), start=1):
            self.records[cell].append(self.writer.append(outcome))
            self.progress(cell.name, done, len(questions))
            self._stop_if_hopeless(self.records[cell], cell)

    def _stop_if_hopeless(self, records: Sequence[RecordLine], cell: Cell) -> None:
        bound = self.prepared.config.settings.max_failures
        allowed = bound if bound >= 1 else bound * len(self.prepared.testset.questions)
        failed = [record for record in records if record.error is not None]
        if len(failed) > allowed:
            last = failed[-1]
            assert last.error is not None
            raise RunError(
                f"cell {cell.name}, question {last.question!r}: {last.error.reason}\n"
                f"  {len(failed)} of {len(records)} questions failed, more than "
                f"`max_failures: {bound:g}` allows; what was done is in {self.writer.folder}"
            )

    def _store(self, status: Status) -> Finished:
        if not self.writer.started:
            return Finished(self.writer.folder, self._file(status))
        self.writer.questions(self.prepared.testset.questions, self.prepared.clusters)
        file = self._file(status)
        self.writer.finish(file)
        report.write(self.writer.folder)
        return Finished(self.writer.folder, file)

    def _file(self, status: Status) -> RunFile:
        config = self.prepared.config
        ledger = self.stages.ledger
        return RunFile(
            schema=1,
            id=self.writer.id,
            status=status,
            started=self.started,
            ended=_now(),
            config=provenance.resolved(config),
            provenance=self.about,
            cells=[self._line(cell, records) for cell, records in self.records.items() if records],
            decide_by=config.decide_by,
            baseline=None if config.baseline is None else config.baseline.name,
            targets=dict(config.settings.targets),
            seconds={**ledger.seconds, "all": time.perf_counter() - self.clock},
            indexes={"built": ledger.built, "reused": ledger.reused},
            warnings=_warnings(
                self.prepared, self.stages, [r for each in self.records.values() for r in each]
            ),
        )

    def _line(self, cell: Cell, records: Sequence[RecordLine]) -> CellLine:
        labels = cell.labels()
        settings = self.prepared.config.settings
        return CellLine(
            name=cell.name,
            chunker=str(labels["chunker"]),
            embedder=labels["embedder"],
            retriever=str(labels["retriever"]),
            reranker=str(labels["reranker"]),
            generator=str(labels["generator"]),
            fingerprint=fingerprint(
                self.stages.identity(cell), settings.retrieve, settings.context.model_dump()
            ),
            chunks=len(self.stages.chunks(cell.chunker).chunks),
            floor=cell.embedder is not None and cell.embedder.floor,
            copies=cell.generator.copies,
            asked=len(records),
            answered=sum(record.answer is not None for record in records),
            declined=sum(bool(record.declined) for record in records),
            failed=sum(record.error is not None for record in records),
            seconds=summarise.mean_seconds(records),
            scores=summarise.aggregated(
                records, self.prepared.plan.metrics, settings.seed, self.prepared.clusters
            ),
        )


def _warnings(prepared: Prepared, stages: Stages, records: Sequence[RecordLine]) -> list[str]:
    found = [
        f"{work}: {n} chunks are longer than the model reads; their ends are not in the index"
        for work, n in stages.ledger.truncated.items()
    ]
    found += [f"skipped: {each.where}: {each.what}" for each in prepared.corpus.skipped]
    found += prepared.testset.notes
    if prepared.clusters is not None and len(set(prepared.clusters.values())) < _FEW_CLUSTERS:
        number = len(set(prepared.clusters.values()))
        found.append(f"{number} clusters of questions are too few for an interval to rest on")
    asked = len(prepared.testset.questions)
    if asked < _FEW:
        found.append(f"{asked} questions are few: only large differences can show")
    found += _shallow(prepared.plan, records)
    return found


def _shallow(plan: Plan, records: Sequence[RecordLine]) -> list[str]:
    """Report rankings that hold fewer distinct documents than the deepest metric reads.

    Several chunks of one document count as one under `documents`; a ranking that was short to
    begin with is the retriever's affair.
    """
    depths = [
        getattr(named.metric, "k", None)
        for named in plan.metrics
        if label_of(named.metric) == "documents"
    ]
    deepest = max((k for k in depths if k is not None), default=0)
    few = sum(
        len({hit.doc for hit in record.hits}) < min(deepest, len(record.hits)) for record in records
    )
    if not few:
        return []
    return [
        f"{few} of {len(records)} rankings hold fewer than {deepest} distinct documents, "
        f"as several chunks of one count as one: raise `retrieve`"
    ]


def _new_id(about: Provenance) -> str:
    content = fingerprint(about.model_dump(mode="json"))
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{content[:6]}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
