"""What can be known of a run before anything is spent on it. Add a check by adding a file here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import ClassVar, Literal, Protocol

from harness.cache import Cache
from harness.errors import HarnessError, RunError
from harness.findings.look import Look, Part
from harness.fingerprint import fingerprint, source_id
from harness.index import Collected
from harness.prepared import Prepared
from harness.printable import printable
from harness.registry import Registry
from harness.rows import Rows, key_of
from harness.stages import Progress, Stages

__all__ = ["EXAMPLES", "Check", "Finding", "Level", "Look", "Part", "checks", "found", "refuse"]

KIND = "findings"
EXAMPLES = 5
"""Ids that a finding names, at most."""
_VERSION = 1

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
        named = f" ({', '.join(self.examples)})" if self.examples else ""
        return printable(f"{self.text}{named}{f'; {self.remedy}' if self.remedy else ''}")

    @property
    def brief(self) -> str:
        """What was found alone, on one line."""
        return printable(self.text)


class Check(Protocol):
    """What every file in this package provides.

    `order` is its place where findings are printed. `reads` is what its findings depend on, so that
    they are kept until that changes; None: they are not kept.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    reads: ClassVar[tuple[Part, ...] | None]

    def dear(self, look: Look) -> bool:
        """Return whether it takes too long for the start of a run."""
        ...

    def found(self, look: Look) -> Iterator[Finding]:
        """Yield what it finds; nothing where all is well."""
        ...


checks: Registry[Check] = Registry("check", __name__)


def found(
    prepared: Prepared,
    stages: Stages,
    cache: Cache,
    collection: Collected | None = None,
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
    look = Look(prepared, stages, cache, collection, deep, progress)
    rows = cache.rows(KIND, {"version": _VERSION, "code": source_id()})
    everything: list[Finding] = []
    for check in sorted((checks[name]() for name in checks), key=lambda each: each.order):
        try:
            everything += _by(check, look, rows)
        except OSError as error:
            raise RunError(f"the run cannot begin: {error}") from error
    return sorted(everything, key=lambda each: _ORDER.index(each.level))


def refuse(findings: list[Finding]) -> None:
    """Raise `HarnessError` with every error among the findings, if there is any."""
    errors = [each for each in findings if each.level == "error"]
    if errors:
        lines = [
            line
            for each in errors
            for line in (
                f"  {each.check}: {each.text}"
                + (f" ({', '.join(each.examples)})" if each.examples else ""),
                *([f"    {each.remedy}"] if each.remedy else []),
            )
        ]
        raise HarnessError("\n".join(["this run would say nothing, so it was not begun:", *lines]))


def _by(check: Check, look: Look, rows: Rows) -> list[Finding]:
    if check.reads is None:
        return [] if check.dear(look) and not look.deep else list(check.found(look))
    key = key_of(check.name, fingerprint([look.about(part) for part in check.reads]))
    raw = rows.get([key]).get(key)
    if raw is not None:
        return [
            Finding(**{**each, "examples": tuple(each["examples"])}) for each in json.loads(raw)
        ]
    if check.dear(look) and not look.deep:
        return []
    made = list(check.found(look))
    rows.put([(key, json.dumps([asdict(each) for each in made]).encode())])
    return made
