"""Lists the components and file formats."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from types import GenericAlias
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from harness import corpus, testset
from harness.chunkers import chunkers
from harness.config.settings import Settings
from harness.embedders import embedders
from harness.errors import HarnessError, suggest
from harness.generators import generators
from harness.metrics import metrics
from harness.metrics.facts import MetricFacts
from harness.records import Outcome
from harness.registry import Registry, parameters, summary
from harness.report.document import Block, Fold, Paragraph, Quotation, TableBlock
from harness.rerankers import rerankers
from harness.retrievers import retrievers
from harness.store.run_file import RunFile
from harness.systems import systems
from harness.testset.jsonl_questions import QuestionRow

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
_FORMATS: Mapping[str, type] = {
    "config": Settings,
    "testset": QuestionRow,
    "run": RunFile,
    "records": Outcome,
}


def overview() -> list[Block]:
    """Return every family with its components, a row each."""
    return [
        TableBlock(
            [family, "what it is"],
            [[name, summary(registry[name])] for name in registry],
            numeric=False,
        )
        for family, registry in FAMILIES.items()
    ]


def table(family: str | None = None) -> str:
    """Return every component, or those of one family, as the Markdown table of the README.

    Raises:
        HarnessError: there is no such family.
    """
    lines = ["| Family | Name | What it is |", "|---|---|---|"]
    for key in FAMILIES if family is None else [_known_family(family)]:
        for name in FAMILIES[key]:
            about = summary(FAMILIES[key][name]).replace("|", "\\|")
            lines.append(f"| {key} | `{name}` | {about} |")
    return "\n".join(lines)


def details(family: str) -> list[Block]:
    """Return the components of one family, with parameters and docstring.

    Raises:
        HarnessError: there is no such family.
    """
    registry = FAMILIES[_known_family(family)]
    return [Fold(name, list(_describe(registry[name]))) for name in registry]


def _describe(cls: Any) -> Iterator[Block]:
    for part in (inspect.getdoc(cls) or "").split("\n\n"):
        is_list = "\n " in part
        yield Quotation("", part) if is_list else Paragraph(part)
    if hasattr(cls, "facts"):
        for heading, text in _fact_rows(cls.facts):
            yield Paragraph(text, label=f"{heading[0].lower()}{heading[1:]}:")
    if defaults := parameters(cls):
        lines = (f"{key}: {default}" for key, default in defaults.items())
        yield Quotation("parameters:", "\n".join(lines))
    if hasattr(cls, "needs"):
        yield Paragraph(", ".join(sorted(cls.needs)) or "nothing", label="needs:")


def _known_family(family: str) -> str:
    if family not in FAMILIES:
        raise HarnessError(f"unknown family {family!r}\n  {suggest(family, FAMILIES)}")
    return family


def _fact_rows(facts: MetricFacts) -> list[tuple[str, str]]:
    return [("Formula", facts.formula), ("Example", facts.example.text), *facts.rows()]


def schema(form: str) -> str:
    """Return the JSON schema of a file format: config, testset, run or records.

    Raises:
        HarnessError: there is no such format.
    """
    if form not in _FORMATS:
        raise HarnessError(f"unknown format {form!r}\n  {suggest(form, _FORMATS)}")
    described = ConfigDict(
        use_attribute_docstrings=True
    )  # of the records inside; a run has no need
    inside: Any = GenericAlias(tuple, _FORMATS[form])
    parts = TypeAdapter(inside, config=described).json_schema(by_alias=True)["$defs"]
    content = {"$defs": parts, **parts.pop(_FORMATS[form].__name__)}
    for part in (content, *parts.values()):
        if "properties" in part:  # what reads these files takes no other key
            part.setdefault("additionalProperties", False)
    return json.dumps(content, indent=1)
