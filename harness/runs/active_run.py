"""Runs the cells of one run in order, and stores its results, also when the run is ended early.

Warnings that only a run can find are made here; what is known before is said by `preflight`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from harness.cache.folders import Cache
from harness.cache.tables import Table
from harness.config.grid import Cell, RunPlan, SystemCell
from harness.config.resolved import embedding_model, models_of_run
from harness.errors import HarnessError, RunError
from harness.files.atomic import write_atomically
from harness.fingerprint import fingerprint
from harness.index import Collections
from harness.metrics.named_metrics import count_unread, describe_unread, label_of
from harness.records import Failure, Outcome
from harness.runs import interrupts, judge_cards, people_labels, provenance, system_cell
from harness.runs.aggregate import sum_up_cell
from harness.runs.artefacts import Artefacts, Progress
from harness.runs.cell import cell_outcomes
from harness.runs.loop import Report, Spending
from harness.runs.oracle.oracle_run import OracleRun
from harness.runs.oracle.oracle_scores import to_jsonl
from harness.runs.run_inputs import RunInputs
from harness.store import reader
from harness.store.cell_labels import parts_of, short_labels
from harness.store.cell_results import CellResult, ReusedLine
from harness.store.frame import FrameBuilder
from harness.store.reader import StoredRun
from harness.store.run_file import MachineWork, Provenance, RunFile
from harness.store.writer import RunWriter
from harness.text.align import MatchCounts

if TYPE_CHECKING:
    from harness.runs.cluster import Machines

_MAX_UNMATCHED_SHARE = 0.05
"""The share of a system's contexts that may be nowhere in the corpus before a run warns."""
_MAX_NAMED = 10
"""Missing questions that a warning names."""
_MIN_INDEX_RECALL = 0.99
"""Index recall under which a run warns."""

Status = Literal["finished", "interrupted", "failed"]


Render = Callable[[StoredRun, Cache], None]
"""Writes the reports of a stored run beside it; a run gets one, as it knows no reports."""


@dataclass
class OpenRun:
    """A run whose models and folders were found, with its cache open and nothing asked yet."""

    prepared: RunInputs
    artefacts: Artefacts
    cache: Cache
    collections: Collections | None
    machines: Machines | None
    fresh: bool
    clock: float
    """When it was opened."""
    about: Provenance
    continues: str
    """The fingerprint of all that shapes the run."""

    def run(
        self,
        warnings: Sequence[str],
        progress: Progress,
        note: Callable[[str], None],
        render: Render,
    ) -> StoredRun:
        """Run every cell over every question and store it, with `warnings`; then `render` it.

        Raises:
            RunError: too many questions failed; what was done is stored, and rendered.
            KeyboardInterrupt: on Ctrl-C; what was done is stored, and rendered.
        """
        prepared, config, cache = self.prepared, self.prepared.config, self.cache
        bounds = (config.settings.max_cost, config.settings.token_budget)
        cache.spending = Spending(config.prices, *bounds)
        ran: Sequence[MachineWork] = ()
        if self.machines is not None:
            ran = self.machines.work(prepared, self.artefacts, cache, progress)
        unfinished_runs(cache).put({self.continues: cache.replies.age.since})
        id_ = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{fingerprint(self.continues)[:6]}"
        with RunWriter(config.output, id_, self.continues, self.fresh) as writer:
            if writer.resumed:
                note(f"continuing {writer.folder}")
            stored = ActiveRun(self, writer, progress, render, warnings, ran).complete()
        unfinished_runs(cache).put({self.continues: 0.0})
        return stored


def unfinished_runs(cache: Cache) -> Table[float]:
    """Return when runs began that have not finished, by all that shapes them; 0: it has."""
    return cache.table("unfinished", float, {"of": "runs that have not finished"}, counted=False)


class ActiveRun:
    """The state of one run while it goes on."""

    def __init__(
        self,
        opened: OpenRun,
        writer: RunWriter,
        progress: Progress,
        render: Render,
        warnings: Sequence[str],
        ran: Sequence[MachineWork],
    ) -> None:
        """Begin; `warnings` are those there are before, `ran` what other machines did for it."""
        self._opened = opened
        self._prepared = prepared = opened.prepared
        self._artefacts = opened.artefacts
        self._cache = opened.cache
        self._writer = writer
        self._progress = progress
        self._render = render
        self._warnings = warnings
        self._ran = ran
        self._started = _now()
        self._lines: list[CellResult] = []
        questions, config = prepared.testset.questions, prepared.config
        cells: list[Cell | SystemCell] = [*config.cells, *config.systems]
        metrics = [metric.name for metric in prepared.plan.metrics]
        self._numbers = FrameBuilder([cell.name for cell in cells], prepared.ids, metrics)
        self._short_rankings = _ShortRankings(prepared.plan)
        self._unread: Counter[str] = Counter()
        self._oracle: OracleRun | None = None
        if config.settings.oracle:
            self._oracle = OracleRun(questions, prepared.plan, prepared.clusters)
        # What a system's models are called is known once it has answered.
        models = list(config.prices.line.models) if config.prices and config.systems else []
        priced = [*models_of_run(config), *models]
        self._prices = None if config.prices is None else config.prices.select(priced)

    def complete(self) -> StoredRun:
        """Go through the cells; whatever ends the run, what was done is stored.

        Raises:
            RunError: too many questions failed, or a metric failed on too many: then all is done.
        """
        try:
            for cell in self._prepared.config.cells:
                self._run_cell(cell)
            for system in self._prepared.config.systems:
                self._run_cell(system)
            if self._oracle is not None:
                self._ask_oracle(self._oracle)
            stored = self._store("finished")
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
                f"  what was done is in {self._writer.folder}; with what was lacking, such as room "
                "on the disk, the same command continues"
            ) from error
        self._check_metrics()
        return stored

    def _run_cell(self, cell: Cell | SystemCell) -> None:
        """Ask every question in one cell; of its records only what sums them up stays in memory."""
        questions = self._prepared.testset.questions
        begin = len(self._numbers)
        self._cache.replies.reused.clear()  # another cell's, or the forecast's
        imported = isinstance(cell, SystemCell) and cell.system.imported
        answered = self._count_failures(cell.name, "cell ", may_stop=not imported)
        try:
            plan = self._prepared.plan
            if isinstance(cell, SystemCell):
                results = system_cell.system_outcomes(
                    cell, questions, self._artefacts, plan, answered
                )
            else:
                results = cell_outcomes(cell, questions, self._artefacts, plan, answered)
            for outcome, chunks in results:
                with interrupts.defer():  # what is stored is counted
                    self._writer.append(outcome, chunks)
                    self._numbers.add(outcome)
                self._unread += count_unread(self._prepared.plan.metrics, [outcome.scores])
                if isinstance(cell, Cell):  # how much a system retrieves is its own affair
                    self._short_rankings.add(outcome)
        finally:
            if len(self._numbers) > begin:
                with interrupts.defer():  # records of a cell that is not there would be damage
                    self._sum_up(cell, begin)
        self._artefacts.release(cell)

    def _ask_oracle(self, oracle: OracleRun) -> None:
        """Ask the generators with all evidence, and with none."""
        reports: dict[str, Report] = {}

        def answered(work: str, question: str, failure: Failure | None) -> None:
            reports.setdefault(work, self._count_failures(work))(question, failure)

        with self._artefacts.ledger.timed("oracle"):
            oracle.ask(self._prepared.config.cells, self._artefacts, answered)

    def _count_failures(self, work: str, kind: str = "", may_stop: bool = True) -> Report:
        """Return what shows how far `work` is, and ends the run where too many questions fail."""
        total, done, failed = len(self._prepared.testset.questions), 0, 0

        def answered(question: str, failure: Failure | None) -> None:
            nonlocal done, failed
            done, failed = done + 1, failed + (failure is not None)
            self._progress(work, done, total)
            if failure is not None and may_stop:
                last = f"{kind}{work}, question {question!r}: {failure.reason}"
                self._check_failures(last, failed, done)

        return answered

    def _sum_up(self, cell: Cell | SystemCell, begin: int) -> None:
        """Add the line of a cell, whose outcomes are those from the number `begin` on."""
        questions = self._prepared.testset.questions
        frame = self._numbers.frame(begin)
        asked = [questions[number] for number in frame.question.tolist()]
        whole = len(frame) == len(questions)
        if self._oracle is not None and isinstance(cell, Cell):
            self._oracle.add_ceiling(cell, asked, self._artefacts)
        measured = self._artefacts.measure_index(cell) if whole and isinstance(cell, Cell) else None
        if isinstance(cell, SystemCell) and cell.system.imported:
            missing = [
                question.id for question, failed in zip(asked, frame.failed, strict=True) if failed
            ]
            for warning in _missing_warnings(cell.name, missing, len(frame)):
                self._cache.warn(warning)
        with self._artefacts.ledger.timed("summing up"):
            line = sum_up_cell(cell, frame, self._artefacts, self._prepared, self._prices, measured)
            self._lines.append(replace(line, reused=_reused_line(self._cache.replies.reused)))

    def _check_failures(self, last: str, failed: int, done: int) -> None:
        settings, questions = self._prepared.config.settings, self._prepared.testset.questions
        if failed > settings.allowed_failures(len(questions)):
            bound = settings.max_failures
            raise RunError(
                f"{last}\n"
                f"  {failed} of {done} questions failed, more than "
                f"`max_failures: {bound:g}` allows; what was done is in {self._writer.folder}, "
                "and the same command continues from there"
            )

    def _check_metrics(self) -> None:
        settings = self._prepared.config.settings
        for cell in self._lines:
            for name, line in cell.scores.items():
                if line.metric_failed > settings.allowed_failures(cell.asked):
                    raise RunError(
                        f"cell {cell.name}: metric {name!r} failed on {line.metric_failed} of "
                        f"{cell.asked} questions, more than `max_failures: "
                        f"{settings.max_failures:g}` allows\n"
                        f"  the run is stored in {self._writer.folder}, with the reasons; "
                        "tracebacks: --debug"
                    )

    def _store_partial(self, status: Status) -> None:
        # Where this fails too, what ended the run is the better thing to say.
        with suppress(OSError, HarnessError):
            if self._writer.started:
                self._store(status)

    def _store(self, status: Status) -> StoredRun:
        writer, prepared = self._writer, self._prepared
        writer.write_questions(prepared.testset.questions, prepared.clusters)
        writer.write_documents(prepared.corpus.converted_documents())
        file = self._build_run_file(status)
        if self._oracle is not None:
            write_atomically(writer.folder / reader.ORACLE, to_jsonl(self._oracle.records))
        stored = writer.finish(file, self._numbers.frame())
        if prepared.config.people is not None and status == "finished":
            file = people_labels.add_file(stored, prepared)
            stored = writer.finish(file, self._numbers.frame())
        self._render(stored, self._cache)
        if status == "finished":
            writer.close()
        return stored

    def _build_run_file(self, status: Status) -> RunFile:
        prepared, config, oracle = self._prepared, self._prepared.config, self._oracle
        labels = short_labels({cell.name: parts_of(cell) for cell in self._lines})
        ledger, clock = self._artefacts.ledger, self._opened.clock
        return RunFile(
            id=self._writer.id,
            status=status,
            started=self._started,
            ended=max(self._started, _now()),  # the clock may have been set back
            config=provenance.resolved_config(config),
            provenance=self._opened.about,
            cells=tuple(replace(cell, label=labels[cell.name]) for cell in self._lines),
            decide_by=config.decide_by,
            baseline=None if config.baseline is None else config.baseline.name,
            sample=None if prepared.sample is None else prepared.sample.line,
            targets=dict(config.settings.targets),
            seconds={**ledger.seconds, "all": time.perf_counter() - clock},
            cache=self._cache.counted(),
            vectors=dict(self._vectors_since()),
            ran=(*self._ran, *self._own_machine_lines()) if self._ran else (),
            warnings=(
                *self._warnings,
                *_index_warnings(self._lines),
                *(
                    warning
                    for cell in config.systems
                    for warning in matching_warnings(cell.name, self._artefacts.match_counts(cell))
                ),
                *prepared.corpus.remarks,
                *prepared.testset.notes,
                *self._short_rankings.warnings(),
                *describe_unread(self._unread),
                *self._cache.warnings,
            ),
            prices=self._prices,
            oracle=() if oracle is None else oracle.summaries(config.cells, self._prices),
            ceilings=() if oracle is None else oracle.ceilings(),
            judges=judge_cards.find_cards(config.folder, prepared.plan.metrics)
            if prepared.plan.asks_judge
            else {},
        )

    def _vectors_since(self) -> Iterator[tuple[str, str]]:
        """Yield each hosted embedding model, and from when on its vectors were kept."""
        for embedder in dict.fromkeys(cell.embedder for cell in self._prepared.config.cells):
            name = None if embedder is None else embedding_model(embedder)
            if embedder is not None and name is not None:
                started = self._artefacts.vectors_since(embedder)
                if started is not None:
                    yield name, started.isoformat(timespec="seconds")

    def _own_machine_lines(self) -> Iterator[MachineWork]:
        for stage, elapsed in self._artefacts.ledger.seconds.items():
            yield MachineWork(stage=stage, node="the run's own machine", tasks=1, seconds=elapsed)


def _reused_line(reused: Mapping[Hashable, float]) -> ReusedLine:
    """Return how many replies were reused, and from when, given when each was made."""
    if not reused:
        return ReusedLine()
    oldest = datetime.fromtimestamp(min(reused.values()), UTC)
    return ReusedLine(n=len(reused), oldest=oldest.isoformat(timespec="seconds"))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _index_warnings(cells: Iterable[CellResult]) -> Iterator[str]:
    """Yield where an index loses so much that it may change the order of cells."""
    for cell in cells:
        recall = cell.index_recall
        if recall is not None and recall.mean < _MIN_INDEX_RECALL:
            raised = "raise index.ef_search and index.ef_construction, or "
            yield (
                f"{cell.name}: the index finds {100 * recall.mean:.1f} % of the {recall.k} nearest "
                f"chunks (over {recall.questions} questions): "
                f"{raised if cell.matched is None else ''}set index.exact: true"
            )


def matching_warnings(cell: str, counts: MatchCounts) -> Iterator[str]:
    """Yield how many of a system's contexts are nowhere in the corpus, where that is many."""
    if counts.unmatched > _MAX_UNMATCHED_SHARE * counts.contexts:
        share = 100 * counts.unmatched / counts.contexts
        yield (
            f"{cell}: {counts.unmatched} of {counts.contexts} contexts ({share:.1f} %) are nowhere "
            f"in the corpus, so no evidence is seen in them: the first is {counts.example}"
        )


def _missing_warnings(cell: str, missing: Sequence[str], asked: int) -> Iterator[str]:
    """Yield which questions the files of a system lack, if any."""
    if missing:
        names = ", ".join(map(repr, missing[:_MAX_NAMED]))
        rest = f" and {len(missing) - _MAX_NAMED} more" if len(missing) > _MAX_NAMED else ""
        yield (
            f"{cell}: {len(missing)} of {asked} questions are missing, and count 0 where "
            f"they are: {names}{rest}"
        )


class _ShortRankings:
    """Counts rankings that hold fewer distinct documents than the deepest metric reads.

    Several chunks of one document count as one under `documents`; a ranking that was short to
    begin with is the retriever's affair.
    """

    def __init__(self, plan: RunPlan) -> None:
        depths = [
            getattr(named.metric, "k", None)
            for named in plan.metrics
            if label_of(named.metric) == "documents"
        ]
        self._deepest = max((k for k in depths if k is not None), default=0)
        self._rankings = self._few = 0

    def add(self, record: Outcome) -> None:
        """Look at one more ranking."""
        self._rankings += 1
        documents = {hit.doc for hit in record.hits}
        self._few += len(documents) < min(self._deepest, len(record.hits))

    def warnings(self) -> Iterator[str]:
        """Yield the warning, if there is cause for one."""
        if self._few:
            yield (
                f"{self._few:,} of {self._rankings:,} rankings hold fewer than {self._deepest} "
                "distinct documents, as several chunks of one count as one: raise `retrieve`"
            )
