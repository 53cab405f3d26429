"""One run while it goes on: its cells in order, what is written, and what ends it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from harness import asking, cautions, interrupts, provenance, report, spending, store
from harness.asked_models import of_cell, of_run
from harness.cache import Cache
from harness.errors import HarnessError, RunError
from harness.oracle.asking import generators
from harness.oracle.file import text
from harness.oracle.oracle import Oracle
from harness.pipeline import outcomes
from harness.prepared import Prepared
from harness.records import Failure
from harness.report.view import View
from harness.runwriter import RunWriter
from harness.stages import Progress, Stages
from harness.stored import (
    CellLine,
    OracleLine,
    OracleRecordLine,
    Provenance,
    RanLine,
    RecordLine,
    RunFile,
)
from harness.summing import Briefly, cell_line
from harness.sweep import Cell, SystemCell
from harness.writing import atomically

Status = Literal["finished", "interrupted", "failed"]


@dataclass(frozen=True)
class Finished:
    """What a run came to."""

    folder: Path
    run: RunFile
    view: View | None = None
    """The run as its reports look at it; None where it ended before anything was answered."""


class Run:
    """The state of one run while it goes on."""

    def __init__(
        self,
        prepared: Prepared,
        stages: Stages,
        cache: Cache,
        writer: RunWriter,
        about: Provenance,
        progress: Progress,
        known: Sequence[str] = (),
        clock: float | None = None,
        ran: Sequence[RanLine] = (),
    ) -> None:
        """Begin.

        `known` are the warnings there are before, `clock` is when the run was begun, `ran` what
        other machines did for it.
        """
        self.known = known
        self.ran = ran
        self.prepared = prepared
        self.stages = stages
        self.cache = cache
        self.writer = writer
        self.about = about
        self.progress = progress
        self.started = _now()
        self.clock = time.perf_counter() if clock is None else clock
        self.lines: list[CellLine] = []
        self.shallow = cautions.Shallow(prepared.plan)
        questions, clusters = prepared.testset.questions, prepared.clusters
        wanted = prepared.config.settings.oracle
        self.oracle = Oracle(questions, prepared.plan, clusters) if wanted else None
        priced = prepared.config.prices
        # What a system's models are called is known once it has answered.
        named = list(priced.line.models) if priced and prepared.config.systems else []
        asked = [*of_run(prepared.config), *named]
        self.prices = None if priced is None else priced.asked(asked)
        self.sample = None if prepared.sample is None else prepared.sample.line

    def to_the_end(self) -> Finished:
        """Go through the cells; whatever ends the run, what was done is stored."""
        try:
            for cell in self.prepared.config.cells:
                self._cell(cell)
            for own in self.prepared.config.systems:
                self._cell(own)
            if self.oracle is not None:
                self._ask(self.oracle)
            return self._store("finished")
        except KeyboardInterrupt:
            self._store_what_there_is("interrupted")
            raise
        except HarnessError:
            self._store_what_there_is("failed")
            raise
        except OSError as error:
            self._store_what_there_is("failed")
            raise RunError(
                f"the run cannot go on: {error}\n"
                f"  what was done is in {self.writer.folder}; with what was lacking, such as room "
                "on the disk, the same command continues"
            ) from error

    def _cell(self, cell: Cell | SystemCell) -> None:
        """Ask every question in one cell; of its records only what sums them up stays in memory."""
        questions = self.prepared.testset.questions
        brief = Briefly(touching=self.oracle is not None)
        records: list[RecordLine] = []
        done = failed = 0
        imported = isinstance(cell, SystemCell) and cell.system.imported

        def answered(question: str, failure: Failure | None) -> None:
            nonlocal done, failed
            done, failed = done + 1, failed + (failure is not None)
            self.progress(cell.name, done, len(questions))
            if failure is not None and not imported:
                last = f"cell {cell.name}, question {question!r}: {failure.reason}"
                self._stop_if_hopeless(last, failed, done)

        try:
            plan = self.prepared.plan
            if isinstance(cell, SystemCell):
                made = asking.outcomes(cell, questions, self.stages, plan, answered)
            else:
                made = outcomes(cell, questions, self.stages, plan, answered)
            for outcome in made:
                with interrupts.waiting():  # what is stored is counted
                    record = self.writer.append(outcome)
                    records.append(brief(record))
                if isinstance(cell, Cell):  # how much a system retrieves is its own affair
                    self.shallow.add(record)
        finally:
            if records:
                with interrupts.waiting():  # records of a cell that is not there would be damage
                    self._sum_up(cell, records)
        self.stages.done(cell)

    def _ask(self, oracle: Oracle) -> None:
        """Ask the generators with all evidence, and with none."""
        told: dict[str, list[bool]] = {}

        def answered(work: str, record: OracleRecordLine, total: int) -> None:
            failures = told.setdefault(work, [])
            failures.append(record.error is not None)
            self.progress(work, len(failures), total)
            if record.error is not None:
                last = f"{work}, question {record.question!r}: {record.error.reason}"
                self._stop_if_hopeless(last, sum(failures), len(failures))

        cells, stages = self.prepared.config.cells, self.stages
        with stages.ledger.timed("oracle"):
            oracle.ask(cells, stages.answers, stages.scores, answered)

    def _sum_up(self, cell: Cell | SystemCell, records: Sequence[RecordLine]) -> None:
        whole = len(records) == len(self.prepared.testset.questions)
        measured = self.stages.measured(cell) if whole and isinstance(cell, Cell) else None
        if isinstance(cell, SystemCell) and cell.system.imported:
            for said in cautions.of_missing(cell.name, records):
                self.cache.warn(said)
        if isinstance(cell, Cell) and self.oracle is not None:
            self.oracle.look(cell, records)
        with self.stages.ledger.timed("summing up"):
            made = cell_line(cell, records, self.stages, self.prepared, self.prices, measured)
            self.lines.append(made)

    def _stop_if_hopeless(self, last: str, failed: int, done: int) -> None:
        settings, questions = self.prepared.config.settings, self.prepared.testset.questions
        if failed > settings.allowed_failures(len(questions)):
            bound = settings.max_failures
            raise RunError(
                f"{last}\n"
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
        if self.oracle is not None:
            atomically(self.writer.folder / store.ORACLE, text(self.oracle.records))
        self.writer.finish(file)
        stored = store.load(self.writer.folder)
        view = View(stored, self.cache.rows("charts", {"version": 1}))
        report.put(view)
        if status == "finished":
            self.writer.close()
        return Finished(self.writer.folder, file, view)

    def _file(self, status: Status) -> RunFile:
        prepared, config = self.prepared, self.prepared.config
        return RunFile(
            schema=1,
            id=self.writer.id,
            status=status,
            started=self.started,
            ended=max(self.started, _now()),  # the clock may have been set back
            config=provenance.resolved(config),
            provenance=self.about,
            cells=self.lines,
            decide_by=config.decide_by,
            baseline=None if config.baseline is None else config.baseline.name,
            sample=self.sample,
            targets=dict(config.settings.targets),
            seconds={**self.stages.ledger.seconds, "all": time.perf_counter() - self.clock},
            cache=self.cache.counted(),
            ran=[*self.ran, *self._here()] if self.ran else [],
            warnings=[
                *self.known,
                *cautions.of_indexes(self.lines),
                *(each for cell in config.systems for each in self._lost(cell)),
                *prepared.corpus.remarks,
                *prepared.testset.notes,
                *self.shallow.said(),
                *self.cache.warnings,
            ],
            prices=self.prices,
            oracle=[] if self.oracle is None else list(self._told(self.oracle)),
            ceilings=[] if self.oracle is None else self.oracle.ceilings(),
        )

    def _told(self, oracle: Oracle) -> Iterator[OracleLine]:
        """Yield what the oracle came to, and what its answers took."""
        asked = generators(self.prepared.config.cells)
        for line in oracle.summed():
            part = (line.generator, line.given)
            own = [each for each in oracle.records if (each.generator, each.given) == part]
            model, _ = of_cell(asked[line.generator])
            took = spending.spent(own, model, [], self.prices)
            yield line.model_copy(update={"spent": took})

    def _here(self) -> Iterator[RanLine]:
        for stage, took in self.stages.ledger.seconds.items():
            yield RanLine(stage=stage, node="the run's own machine", tasks=1, seconds=took)

    def _lost(self, cell: SystemCell) -> Iterator[str]:
        return cautions.of_matching(cell.name, self.stages.matched(cell))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
