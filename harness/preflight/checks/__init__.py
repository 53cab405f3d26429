"""Checks of a run's data and settings before it starts. Add a check by adding a file here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from harness.cache.folders import Cache
from harness.cache.tables import Table
from harness.errors import HarnessError, RunError
from harness.fingerprint import fingerprint, source_id
from harness.index import ExistingChunks
from harness.preflight.checks.check_input import CheckInput, Part
from harness.registry import Registry
from harness.runs.artefacts import Artefacts, Progress
from harness.runs.run_inputs import RunInputs
from harness.text.escaping import make_printable

__all__ = [
    "MAX_EXAMPLES",
    "CheckInput",
    "Finding",
    "Level",
    "Part",
    "RunCheck",
    "checks",
    "refuse_errors",
    "run_checks",
]

KIND = "findings"
MAX_EXAMPLES = 5
"""Ids that a finding names, at most."""

Level = Literal["error", "warning", "note"]
"""An error refuses the run; a warning is stored with it; a note is shown by `validate --deep`."""
_ORDER: tuple[Level, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """One thing that a check found: its figure in plain words, and what would put it right.

    `examples` are ids of questions, documents or cells, five at most.
    """

    check: str
    level: Level
    text: str
    remedy: str = ""
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it on one line, as it is stored with a run."""
        examples = f" ({', '.join(self.examples)})" if self.examples else ""
        return make_printable(f"{self.text}{examples}{f'; {self.remedy}' if self.remedy else ''}")

    @property
    def brief(self) -> str:
        """What was found alone, on one line."""
        return make_printable(self.text)


class RunCheck(Protocol):
    """What every file in this package provides.

    `order` is its place where findings are printed. `reads` is what its findings depend on, so that
    they are kept until that changes; None: they are not kept.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    reads: ClassVar[tuple[Part, ...] | None]

    def is_expensive(self, run: CheckInput) -> bool:
        """Return whether it takes too long for the start of a run."""
        ...

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield what it finds; nothing where all is well."""
        ...


checks: Registry[RunCheck] = Registry("check", __name__, RunCheck)


def run_checks(
    prepared: RunInputs,
    artefacts: Artefacts,
    cache: Cache,
    collection: ExistingChunks | None = None,
    deep: bool = False,
    progress: Progress = lambda work, done, total: None,
) -> list[Finding]:
    """Return what every check finds, errors first.

    What is known from an earlier time is not looked for again. What is dear is looked for only
    where `deep`. Chunks are made, as they will be needed; nothing is embedded, and nobody asked.

    Raises:
        HarnessError: a chunker or a model cannot be used.
        RunError: the chunks cannot be written.
    """
    run = CheckInput(prepared, artefacts, cache, collection, deep, progress)
    table = cache.table(KIND, tuple[Finding, ...], {"code": source_id()}, counted=False)
    everything: list[Finding] = []
    for check in sorted((checks[name]() for name in checks), key=lambda check: check.order):
        try:
            everything += _cached_findings(check, run, table)
        except OSError as error:
            raise RunError(f"the run cannot begin: {error}") from error
    return sorted(everything, key=lambda finding: _ORDER.index(finding.level))


def refuse_errors(findings: list[Finding]) -> None:
    """Raise `HarnessError` with every error among the findings, if there is any."""
    errors = [finding for finding in findings if finding.level == "error"]
    if errors:
        lines = [
            line
            for finding in errors
            for line in (
                f"  {finding.check}: {finding.text}"
                + (f" ({', '.join(finding.examples)})" if finding.examples else ""),
                *([f"    {finding.remedy}"] if finding.remedy else []),
            )
        ]
        raise HarnessError("\n".join(["this run would say nothing, so it was not begun:", *lines]))


def _cached_findings(
    check: RunCheck, run: CheckInput, table: Table[tuple[Finding, ...]]
) -> Sequence[Finding]:
    if check.reads is None:
        return [] if check.is_expensive(run) and not run.deep else list(check.find(run))
    key = (check.name, fingerprint([run.part_identity(part) for part in check.reads]))
    cached = table.get([key]).get(key)
    if cached is not None:
        return cached
    if check.is_expensive(run) and not run.deep:
        return []
    findings = tuple(check.find(run))
    table.put({key: findings})
    return findings
