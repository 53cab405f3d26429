"""Checks of a run's data and settings before it starts: a module each, and its line in `CHECKS`."""

from __future__ import annotations

from collections.abc import Sequence

from harness.cache.folders import Cache
from harness.cache.tables import Table
from harness.errors import HarnessError, RunError
from harness.fingerprint import fingerprint, source_id
from harness.index import Collections
from harness.preflight.checks import documents, labels, models, questions, traffic
from harness.preflight.checks.check_input import Check, CheckInput, Finding, Level, Part
from harness.runs.artefacts import Artefacts, Progress
from harness.runs.run_inputs import RunInputs

__all__ = ["CHECKS", "CheckInput", "Finding", "refuse_errors", "run_checks"]

_LEVELS: tuple[Level, ...] = ("error", "warning", "note")
_LABELLED: tuple[Part, ...] = ("chunks", "questions", "settings")

CHECKS = (
    Check("windows", models.find_truncated, ("chunks", "embedders", "settings")),
    Check("pairs", models.find_truncated_pairs, ("rerankers", *_LABELLED)),
    Check("prompts", models.find_missing_prompts, ("embedders",)),
    Check("collection", models.find_unfit_vectors, None),
    Check(
        "duplicates",
        documents.find_duplicates,
        ("documents", "questions", "settings"),
        documents.takes_long_to_compare,
    ),
    Check("chunks", documents.find_poor_chunks, ("chunks",), documents.has_many_chunks),
    Check(
        "boilerplate", documents.find_repeated_lines, ("documents",), documents.takes_long_to_read
    ),
    Check("labels", labels.find_missing, ("documents", *_LABELLED), labels.answers_take_long),
    Check("gold", labels.find_cut_gold, _LABELLED),
    Check("keywords", labels.find_poor_strings, _LABELLED, labels.strings_take_long),
    Check("leaks", questions.find_leaks, ("questions", "settings")),
    Check("memory", questions.find_remembered, None),
    Check("size", questions.find_small_set, ("questions", "settings")),
    Check("questions", questions.find_poor_questions, None),
    Check("pool", labels.find_small_pool, ("documents", "questions", "settings")),
    Check("traffic", traffic.find_unlike_traffic, None),
)
"""In the order in which findings are printed."""


def run_checks(
    prepared: RunInputs,
    artefacts: Artefacts,
    cache: Cache,
    collections: Collections | None = None,
    deep: bool = False,
    progress: Progress = lambda work, done, total: None,
) -> list[Finding]:
    """Return what every check finds, errors first.

    What is known from an earlier time is not looked for again. What is expensive is looked for only
    where `deep`. Chunks are made, as they will be needed; nothing is embedded, and nobody asked.

    Raises:
        HarnessError: a chunker or a model cannot be used.
        RunError: the chunks cannot be written.
    """
    run = CheckInput(prepared, artefacts, cache, collections, deep, progress)
    table = cache.table("findings", tuple[Finding, ...], {"code": source_id()}, counted=False)
    findings: list[Finding] = []
    for check in CHECKS:
        try:
            findings += _cached_findings(check, run, table)
        except OSError as error:
            raise RunError(f"the run cannot begin: {error}") from error
    return sorted(findings, key=lambda finding: _LEVELS.index(finding.level))


def refuse_errors(findings: list[Finding]) -> None:
    """Raise `HarnessError` with every error among the findings, if there is any."""
    lines: list[str] = []
    for finding in findings:
        if finding.level == "error":
            examples = f" ({', '.join(finding.examples)})" if finding.examples else ""
            lines.append(f"  {finding.check}: {finding.text}{examples}")
            lines += [f"    {finding.remedy}"] if finding.remedy else []
    if lines:
        raise HarnessError(
            "\n".join(["this run would say nothing, so it was not started:", *lines])
        )


def _cached_findings(
    check: Check, run: CheckInput, table: Table[tuple[Finding, ...]]
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
