"""What a model wants before a question and before a passage: its own prompts, and its family's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.models import locate
from harness.paths import portable
from harness.runtime.reader import Kind

_FILE = "config_sentence_transformers.json"
_SHOWN = 200
"""Characters of the names of prompts in a message."""
_NAMES = {"query": ("query",), "document": ("document", "passage", "corpus")}
_ASKED = "Represent this sentence for searching relevant passages: "
_INSTRUCTED = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
)


@dataclass(frozen=True)
class Prompts:
    """What is put before a text of each kind; empty where nothing is."""

    query: str = ""
    document: str = ""

    def of(self, kind: Kind) -> str:
        """Return the prompt of one kind."""
        return self.query if kind == "query" else self.document


@dataclass(frozen=True)
class Family:
    """Models that were trained with prompts, by a pattern in their name, and who says so."""

    pattern: str
    prompts: Prompts
    card: str


_FAMILIES = (
    Family(
        r"e5-(mistral-7b|large)-instruct", Prompts(_INSTRUCTED), "intfloat/e5-mistral-7b-instruct"
    ),
    Family(r"gte-qwen.*-instruct", Prompts(_INSTRUCTED), "Alibaba-NLP/gte-Qwen2-7B-instruct"),
    Family(r"qwen3-embedding", Prompts(_INSTRUCTED), "Qwen/Qwen3-Embedding-0.6B"),
    Family(r"\be5-(small|base|large)", Prompts("query: ", "passage: "), "intfloat/e5-base-v2"),
    Family(r"bge-(small|base|large)-en", Prompts(_ASKED), "BAAI/bge-base-en-v1.5"),
    Family(
        r"bge-(small|base|large)-zh",
        Prompts("为这个句子生成表示以用于检索相关文章："),
        "BAAI/bge-base-zh-v1.5",
    ),
    Family(r"mxbai-embed-large", Prompts(_ASKED), "mixedbread-ai/mxbai-embed-large-v1"),
    Family(r"uae-large", Prompts(_ASKED), "WhereIsAI/UAE-Large-V1"),
    Family(r"arctic-embed-.*v2", Prompts("query: "), "Snowflake/snowflake-arctic-embed-l-v2.0"),
    Family(r"arctic-embed", Prompts(_ASKED), "Snowflake/snowflake-arctic-embed-m-v1.5"),
    Family(
        r"nomic-embed-text|modernbert-embed",
        Prompts("search_query: ", "search_document: "),
        "nomic-ai/nomic-embed-text-v1.5",
    ),
    Family(
        r"embeddinggemma",
        Prompts("task: search result | query: ", "title: none | text: "),
        "google/embeddinggemma-300m",
    ),
    Family(
        r"instructor-(base|large|xl)",
        Prompts(
            "Represent the question for retrieving supporting documents: ",
            "Represent the document for retrieval: ",
        ),
        "hkunlp/instructor-large",
    ),
)
"""The first whose pattern is in the name holds."""


def own(model: str) -> Prompts:
    """Return the prompts for questions and documents that the model's files name.

    Raises:
        ModelError: the model cannot be found.
    """
    return Prompts(**{kind: _first(_written(model), names) for kind, names in _NAMES.items()})


def used(model: str, query: str | None, document: str | None) -> Prompts:
    """Return the prompts that are given, or where None is given the model's own.

    Raises:
        ModelError: the model cannot be found.
    """
    found = own(model)
    return Prompts(
        found.query if query is None else query, found.document if document is None else document
    )


def missing(model: str, prompts: Prompts) -> Iterator[str]:
    """Yield a warning for each kind of text that goes without the prompt the model expects.

    One warning is for both where the model's file has prompts by names that tell of neither.
    """
    found, family = own(model), _family(model)
    named = {"query": "questions", "document": "documents"}
    others = [name for name, text in _written(model).items() if text]
    if others and found == prompts == Prompts() and family is None:
        names = ", ".join(map(repr, others))
        yield (
            f"model {portable(model)!r}: texts are embedded without a prompt, and its {_FILE} "
            f"has some: {names[:_SHOWN]}; set query_prompt and document_prompt"
        )
    for kind, texts in named.items():
        expected, source = getattr(found, kind), f"its {_FILE}"
        if not expected and family is not None:
            expected, source = getattr(family.prompts, kind), f"the model card of {family.card}"
        if expected and not getattr(prompts, kind):
            yield (
                f"model {portable(model)!r}: {texts} are embedded without the prompt "
                f"{expected!r} of {source}; set {kind}_prompt"
            )


def _family(model: str) -> Family | None:
    name = Path(model).name.lower()
    return next((each for each in _FAMILIES if re.search(each.pattern, name)), None)


def _written(model: str) -> Mapping[str, Any]:
    try:
        noted = json.loads((locate(model) / _FILE).read_text(encoding="utf-8"))
        prompts = noted.get("prompts")
    except (OSError, ValueError, AttributeError):
        return {}  # The model's library says what is wrong with the file, if anything is.
    return prompts if isinstance(prompts, dict) else {}


def _first(prompts: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((text for name in names if isinstance(text := prompts.get(name), str) and text), "")
