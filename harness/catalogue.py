"""The components and file formats there are, as text."""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from harness import corpus, testset
from harness.chunkers import chunkers
from harness.embedders import embedders
from harness.errors import HarnessError, suggest
from harness.facts import Facts
from harness.generators import generators
from harness.metrics import metrics
from harness.registry import Registry, parameters, summary
from harness.rerankers import rerankers
from harness.retrievers import retrievers
from harness.settings import Settings
from harness.stored import RecordLine, RunFile
from harness.systems import systems
from harness.testset.jsonl import QuestionRow

FAMILIES: Mapping[str, Registry[Any]] = {
    "chunkers": chunkers,
    "embedders": embedders,
    "retrievers": retrievers,
    "rerankers": rerankers,
    "generators": generators,
    "systems": systems,
    "metrics": metrics,
    "corpora": corpus.readers,
    "testsets": testset.readers,
}
_FORMATS: Mapping[str, type[BaseModel]] = {
    "config": Settings,
    "testset": QuestionRow,
    "run": RunFile,
    "records": RecordLine,
}


def overview() -> str:
    """Return every family with its components, a line each."""
    lines: list[str] = []
    for family, registry in FAMILIES.items():
        lines += ["", family] if lines else [family]
        wide = max(map(len, registry)) + 2
        lines += [f"  {name:<{wide}}{summary(registry[name])}" for name in registry]
    return "\n".join(lines)


def table() -> str:
    """Return every component as the Markdown table that the README holds."""
    lines = ["| Family | Name | What it is |", "|---|---|---|"]
    for family, registry in FAMILIES.items():
        for name in registry:
            said = summary(registry[name]).replace("|", "\\|")
            lines.append(f"| {family} | `{name}` | {said} |")
    return "\n".join(lines)


def details(family: str) -> str:
    """Return the components of one family, with parameters and docstring.

    Raises:
        HarnessError: there is no such family.
    """
    if family not in FAMILIES:
        raise HarnessError(f"unknown family {family!r}\n  {suggest(family, FAMILIES)}")
    parts: list[str] = []
    for name in FAMILIES[family]:
        cls = FAMILIES[family][name]
        said = [name, *(f"  {line}".rstrip() for line in (inspect.getdoc(cls) or "").splitlines())]
        if hasattr(cls, "facts"):
            said += ["", *(line for row in _told(cls.facts) for line in _wrapped(*row))]
        listed = [f"    {key}: {default}" for key, default in parameters(cls).items()]
        said += ["  parameters:", *listed] if listed else []
        if hasattr(cls, "needs"):
            said.append(f"  needs: {', '.join(sorted(cls.needs)) or 'nothing'}")
        parts.append("\n".join(said))
    return "\n\n".join(parts)


def _told(facts: Facts) -> list[tuple[str, str]]:
    return [("Formula", facts.formula), ("Example", facts.example.said), *facts.rows()]


def _wrapped(heading: str, text: str) -> list[str]:
    heading = f"  {heading[0].lower()}{heading[1:]}: "
    return textwrap.wrap(
        text, 100, initial_indent=heading, subsequent_indent="    ", break_on_hyphens=False
    )


def schema(what: str) -> str:
    """Return the JSON schema of a file format: config, testset, run or records.

    Raises:
        HarnessError: there is no such format.
    """
    if what not in _FORMATS:
        raise HarnessError(f"unknown format {what!r}\n  {suggest(what, _FORMATS)}")
    return json.dumps(_FORMATS[what].model_json_schema(by_alias=True), indent=1)
