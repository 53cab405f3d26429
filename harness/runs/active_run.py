"""Runs the cells of one run in order, and stores its results, also when the run is ended early."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import numpy as np

from harness.cache.folders import Cache
from harness.config.chat_models import embedding_model, models_of_cell, models_of_run
from harness.config.grid import Cell, SystemCell
from harness.errors import HarnessError, RunError
from harness.files.atomic import write_atomically
from harness.records import Failure
from harness.runs import interrupts, judge_cards, provenance, run_warnings, system_cell
from harness.runs.aggregate import sum_up_cell
from harness.runs.artefacts import Artefacts, Progress
from harness.runs.cell import cell_outcomes
from harness.runs.loop import Report
from harness.runs.oracle.oracle_file import to_jsonl
from harness.runs.oracle.oracle_run import OracleRun, answering_generators
from harness.runs.run_inputs import RunInputs
from harness.store import expenses, reader
from harness.store.cell_labels import parts_of, short_labels
from harness.store.cell_results import CellResult, ReusedLine
from harness.store.frame import FrameBuilder
from harness.store.reader import StoredRun
from harness.store.run_file import MachineWork, OracleResult, Provenance, RunFile
from harness.store.writer import RunWriter

Status = Literal["finished", "interrupted", "failed"]


Render = Callable[[StoredRun, Cache], None]
"""Writes the reports of a stored run beside it; a run is handed one, as it knows no reports."""


@dataclass(frozen=True)
class RunResult:
    """What a run came to."""

    folder: Path
    run: RunFile


class ActiveRun:
    """The state of one run while it goes on."""

    def __init__(
        self,
        prepared: RunInputs,
        artefacts: Artefacts,
        cache: Cache,
        writer: RunWriter,
        about: Provenance,
        progress: Progress,
        render: Render,
        warnings: Sequence[str] = (),
        clock: float | None = None,
        ran: Sequence[MachineWork] = (),
    ) -> None:
        """Begin.

        `warnings` are the warnings there are before, `clock` is when the run was begun, `ran` what
        other machines did for it.
        """
        self.warnings = warnings
        self.ran = ran
        self.prepared = prepared
        self.artefacts = artefacts
        self.cache = cache
        self.writer = writer
        self.about = about
        self.progress = progress
        self.render = render
        self.started = _now()
        self.clock = time.perf_counter() if clock is None else clock
        self.lines: list[CellResult] = []
        cells: list[Cell | SystemCell] = [*prepared.config.cells, *prepared.config.systems]
        ids = [question.id for question in prepared.testset.questions]
        metrics = [metric.name for metric in prepared.plan.metrics]
        self.numbers = FrameBuilder([cell.name for cell in cells], ids, metrics)
        self.short_rankings = run_warnings.ShortRankings(prepared.plan)
        questions, clusters = prepared.testset.questions, prepared.clusters
        with_oracle = prepared.config.settings.oracle
        self.oracle = OracleRun(questions, prepared.plan, clusters) if with_oracle else None
        price_file = prepared.config.prices
        # What a system's models are called is known once it has answered.
        models = list(price_file.line.models) if price_file and prepared.config.systems else []
        priced_models = [*models_of_run(prepared.config), *models]
        self.prices = None if price_file is None else price_file.select(priced_models)
        self.sample = None if prepared.sample is None else prepared.sample.line

    def complete(self) -> RunResult:
        """Go through the cells; whatever ends the run, what was done is stored.

        Raises:
            RunError: too many questions failed, or a metric failed on too many: then all is done.
        """
        try:
            for cell in self.prepared.config.cells:
                self._run_cell(cell)
            for system in self.prepared.config.systems:
                self._run_cell(system)
            if self.oracle is not None:
                self._ask_oracle(self.oracle)
            result = self._store("finished")
        except KeyboardInterrupt:
            self._store_partial("interrupted")
            raise
        except HarnessError:
            self._store_partial("failed")
            raise
        except OSError as error:
            self._store_partial("failed")
            raise RunError(
                f"the run cannot go on: {error}\n"
                f"  what was done is in {self.writer.folder}; with what was lacking, such as room "
                "on the disk, the same command continues"
            ) from error
        self._check_metrics()
        return result

    def _run_cell(self, cell: Cell | SystemCell) -> None:
        """Ask every question in one cell; of its records only what sums them up stays in memory."""
        questions = self.prepared.testset.questions
        begin = len(self.numbers)
        self.cache.replies.reused.clear()  # another cell's, or the forecast's
        imported = isinstance(cell, SystemCell) and cell.system.imported
        answered = self._count_failures(cell.name, "cell ", may_stop=not imported)
        try:
            plan = self.prepared.plan
            if isinstance(cell, SystemCell):
                results = system_cell.system_outcomes(
                    cell, questions, self.artefacts, plan, answered
                )
            else:
                results = cell_outcomes(cell, questions, self.artefacts, plan, answered)
            for outcome, chunks in results:
                with interrupts.defer():  # what is stored is counted
                    self.writer.append(outcome, chunks)
                    self.numbers.add(outcome)
                if isinstance(cell, Cell):  # how much a system retrieves is its own affair
                    self.short_rankings.add(outcome)
                    if self.oracle is not None:
                        self.oracle.add_ceiling(cell, outcome)
        finally:
            if len(self.numbers) > begin:
                with interrupts.defer():  # records of a cell that is not there would be damage
                    self._sum_up(cell, begin)
        self.artefacts.release(cell)

    def _ask_oracle(self, oracle: OracleRun) -> None:
        """Ask the generators with all evidence, and with none."""
        reports: dict[str, Report] = {}

        def answered(work: str, question: str, failure: Failure | None) -> None:
            reports.setdefault(work, self._count_failures(work))(question, failure)

        with self.artefacts.ledger.timed("oracle"):
            oracle.ask(self.prepared.config.cells, self.artefacts, answered)

    def _count_failures(self, work: str, kind: str = "", may_stop: bool = True) -> Report:
        """Return what shows how far `work` is, and ends the run where too many questions fail."""
        total, done, failed = len(self.prepared.testset.questions), 0, 0

        def answered(question: str, failure: Failure | None) -> None:
            nonlocal done, failed
            done, failed = done + 1, failed + (failure is not None)
            self.progress(work, done, total)
            if failure is not None and may_stop:
                last = f"{kind}{work}, question {question!r}: {failure.reason}"
                self._check_failures(last, failed, done)

        return answered

    def _sum_up(self, cell: Cell | SystemCell, begin: int) -> None:
        """Add the line of a cell, whose outcomes are those from the number `begin` on."""
        questions = self.prepared.testset.questions
        frame = self.numbers.frame()
        frame = frame.at(np.arange(begin, len(frame)))
        whole = len(frame) == len(questions)
        measured = self.artefacts.measure_index(cell) if whole and isinstance(cell, Cell) else None
        if isinstance(cell, SystemCell) and cell.system.imported:
            missing = [questions[number].id for number in frame.question[frame.failed].tolist()]
            for warning in run_warnings.missing_warnings(cell.name, missing, len(frame)):
                self.cache.warn(warning)
        with self.artefacts.ledger.timed("summing up"):
            line = sum_up_cell(cell, frame, self.artefacts, self.prepared, self.prices, measured)
            self.lines.append(replace(line, reused=_reused_line(self.cache.replies.reused)))

    def _check_failures(self, last: str, failed: int, done: int) -> None:
        settings, questions = self.prepared.config.settings, self.prepared.testset.questions
        if failed > settings.allowed_failures(len(questions)):
            bound = settings.max_failures
            raise RunError(
                f"{last}\n"
                f"  {failed} of {done} questions failed, more than "
                f"`max_failures: {bound:g}` allows; what was done is in {self.writer.folder}, "
                "and the same command continues from there"
            )

    def _check_metrics(self) -> None:
        settings = self.prepared.config.settings
        for cell in self.lines:
            for name, line in cell.scores.items():
                if line.metric_failed > settings.allowed_failures(cell.asked):
                    raise RunError(
                        f"cell {cell.name}: metric {name!r} failed on {line.metric_failed} of "
                        f"{cell.asked} questions, more than `max_failures: "
                        f"{settings.max_failures:g}` allows\n"
                        f"  the run is stored in {self.writer.folder}, with the reasons; "
                        "tracebacks: --debug"
                    )

    def _store_partial(self, status: Status) -> None:
        # Where this fails too, what ended the run is the better thing to say.
        with suppress(OSError, HarnessError):
            self._store(status)

    def _store(self, status: Status) -> RunResult:
        if not self.writer.started:
            return RunResult(self.writer.folder, self._build_run_file(status))
        self.writer.write_questions(self.prepared.testset.questions, self.prepared.clusters)
        self.writer.write_documents(self.prepared.corpus.converted_documents())
        file = self._build_run_file(status)
        if self.oracle is not None:
            write_atomically(self.writer.folder / reader.ORACLE, to_jsonl(self.oracle.records))
        self.render(self.writer.finish(file, self.numbers.frame()), self.cache)
        if status == "finished":
            self.writer.close()
        return RunResult(self.writer.folder, file)

    def _build_run_file(self, status: Status) -> RunFile:
        prepared, config = self.prepared, self.prepared.config
        labels = short_labels({cell.name: parts_of(cell) for cell in self.lines})
        return RunFile(
            id=self.writer.id,
            status=status,
            started=self.started,
            ended=max(self.started, _now()),  # the clock may have been set back
            config=provenance.resolved_config(config),
            provenance=self.about,
            cells=tuple(replace(cell, label=labels[cell.name]) for cell in self.lines),
            decide_by=config.decide_by,
            baseline=None if config.baseline is None else config.baseline.name,
            sample=self.sample,
            targets=dict(config.settings.targets),
            seconds={**self.artefacts.ledger.seconds, "all": time.perf_counter() - self.clock},
            cache=self.cache.counted(),
            vectors=dict(self._vectors_begun()),
            ran=(*self.ran, *self._own_machine_lines()) if self.ran else (),
            warnings=(
                *self.warnings,
                *run_warnings.index_warnings(self.lines),
                *(warning for cell in config.systems for warning in self._matching_warnings(cell)),
                *prepared.corpus.remarks,
                *prepared.testset.notes,
                *self.short_rankings.warnings(),
                *self.cache.warnings,
            ),
            prices=self.prices,
            oracle=() if self.oracle is None else tuple(self._oracle_lines(self.oracle)),
            ceilings=() if self.oracle is None else tuple(self.oracle.ceilings()),
            judges=judge_cards.find_cards(config.folder, prepared.plan.metrics),
        )

    def _vectors_begun(self) -> Iterator[tuple[str, str]]:
        """Yield each hosted embedding model, and from when on its vectors were kept."""
        for embedder in dict.fromkeys(cell.embedder for cell in self.prepared.config.cells):
            name = None if embedder is None else embedding_model(embedder)
            if embedder is not None and name is not None:
                begun = self.artefacts.vectors_begun(embedder)
                if begun is not None:
                    yield name, begun.isoformat(timespec="seconds")

    def _oracle_lines(self, oracle: OracleRun) -> Iterator[OracleResult]:
        """Yield what the oracle came to, and what its answers took."""
        cells = answering_generators(self.prepared.config.cells)
        for line in oracle.summaries():
            part = (line.generator, line.given)
            records = [
                record for record in oracle.records if (record.generator, record.given) == part
            ]
            model, _ = models_of_cell(cells[line.generator])
            usages = [record.usage for record in records if record.usage is not None]
            spent = expenses.sum_spent(usages, len(usages), model, [], self.prices)
            yield replace(line, spent=spent)

    def _own_machine_lines(self) -> Iterator[MachineWork]:
        for stage, elapsed in self.artefacts.ledger.seconds.items():
            yield MachineWork(stage=stage, node="the run's own machine", tasks=1, seconds=elapsed)

    def _matching_warnings(self, cell: SystemCell) -> Iterator[str]:
        return run_warnings.matching_warnings(cell.name, self.artefacts.match_counts(cell))


def _reused_line(reused: Mapping[Hashable, float]) -> ReusedLine:
    """Return how many replies were reused, and from when, given when each was made."""
    if not reused:
        return ReusedLine()
    oldest = datetime.fromtimestamp(min(reused.values()), UTC)
    return ReusedLine(n=len(reused), oldest=oldest.isoformat(timespec="seconds"))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
