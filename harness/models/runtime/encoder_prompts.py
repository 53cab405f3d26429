"""The prompts that an embedding model expects before a question and before a passage."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.files.paths import make_portable
from harness.models.model_files import locate, read_settings
from harness.protocols import TextKind

_FILE = "config_sentence_transformers.json"
_MAX_NAMES_CHARS = 200
"""Characters of the names of prompts in a message."""
_NAMES = {"query": ("query",), "document": ("document", "passage", "corpus")}
_SEARCH_PROMPT = "Represent this sentence for searching relevant passages: "
_CHINESE_PROMPT = "为这个句子生成表示以用于检索相关文章："
_INSTRUCT_PROMPT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
)


@dataclass(frozen=True)
class EncoderPrompts:
    """What is put before a text of each kind; empty where nothing is."""

    query: str = ""
    document: str = ""

    def for_kind(self, kind: TextKind) -> str:
        """Return the prompt of one kind."""
        return self.query if kind == "query" else self.document


_FAMILIES = (
    (r"e5-(mistral-7b|large)-instruct", _INSTRUCT_PROMPT, "", "intfloat/e5-mistral-7b-instruct"),
    (r"gte-qwen.*-instruct", _INSTRUCT_PROMPT, "", "Alibaba-NLP/gte-Qwen2-7B-instruct"),
    (r"qwen3-embedding", _INSTRUCT_PROMPT, "", "Qwen/Qwen3-Embedding-0.6B"),
    (r"\be5-(small|base|large)", "query: ", "passage: ", "intfloat/e5-base-v2"),
    (r"bge-(small|base|large)-en", _SEARCH_PROMPT, "", "BAAI/bge-base-en-v1.5"),
    (r"bge-(small|base|large)-zh", _CHINESE_PROMPT, "", "BAAI/bge-base-zh-v1.5"),
    (r"mxbai-embed-large", _SEARCH_PROMPT, "", "mixedbread-ai/mxbai-embed-large-v1"),
    (r"uae-large", _SEARCH_PROMPT, "", "WhereIsAI/UAE-Large-V1"),
    (r"arctic-embed-.*v2", "query: ", "", "Snowflake/snowflake-arctic-embed-l-v2.0"),
    (r"arctic-embed", _SEARCH_PROMPT, "", "Snowflake/snowflake-arctic-embed-m-v1.5"),
    (
        r"nomic-embed-text|modernbert-embed",
        *("search_query: ", "search_document: ", "nomic-ai/nomic-embed-text-v1.5"),
    ),
    (
        r"embeddinggemma",
        *("task: search result | query: ", "title: none | text: ", "google/embeddinggemma-300m"),
    ),
    (
        r"instructor-(base|large|xl)",
        "Represent the question for retrieving supporting documents: ",
        "Represent the document for retrieval: ",
        "hkunlp/instructor-large",
    ),
)
"""A pattern of names, the prompts for questions and documents that such models were trained with,
and the card that says so; the first whose pattern is in a name holds."""


def model_prompts(model: str) -> EncoderPrompts:
    """Return the prompts for questions and documents that the model's files name.

    Raises:
        ModelError: the model cannot be found.
    """
    return EncoderPrompts(
        **{kind: _first_text(_read_prompts(model), names) for kind, names in _NAMES.items()}
    )


def prompts_in_use(model: str, query: str | None, document: str | None) -> EncoderPrompts:
    """Return the prompts that are given, or where None is given the model's own.

    Raises:
        ModelError: the model cannot be found.
    """
    own_prompts = model_prompts(model)
    return EncoderPrompts(
        own_prompts.query if query is None else query,
        own_prompts.document if document is None else document,
    )


def missing_prompt_warnings(model: str, prompts: EncoderPrompts) -> Iterator[str]:
    """Yield a warning for each kind of text that goes without the prompt the model expects.

    One warning is for both where the model's file has prompts by names that tell of neither.
    """
    own_prompts, family = model_prompts(model), _family(model)
    texts_by_kind = {"query": "questions", "document": "documents"}
    others = [name for name, text in _read_prompts(model).items() if text]
    if others and own_prompts == prompts == EncoderPrompts() and family is None:
        names = ", ".join(map(repr, others))
        yield (
            f"model {make_portable(model)!r}: texts are embedded without a prompt, and its {_FILE} "
            f"has some: {names[:_MAX_NAMES_CHARS]}; set query_prompt and document_prompt"
        )
    for kind, texts in texts_by_kind.items():
        expected, source = getattr(own_prompts, kind), f"its {_FILE}"
        if not expected and family is not None:
            expected, source = getattr(family[0], kind), f"the model card of {family[1]}"
        if expected and not getattr(prompts, kind):
            yield (
                f"model {make_portable(model)!r}: {texts} are embedded without the prompt "
                f"{expected!r} of {source}; set {kind}_prompt"
            )


def _family(model: str) -> tuple[EncoderPrompts, str] | None:
    """Return the prompts that models of this name were trained with, and the card of one."""
    name = Path(model).name.lower()
    found = (family for family in _FAMILIES if re.search(family[0], name))
    return next(((EncoderPrompts(query, text), card) for _, query, text, card in found), None)


def _read_prompts(model: str) -> dict[str, Any]:
    prompts = read_settings(locate(model) / _FILE).get("prompts")
    return prompts if isinstance(prompts, dict) else {}


def _first_text(prompts: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((text for name in names if isinstance(text := prompts.get(name), str) and text), "")
