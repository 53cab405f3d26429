"""Filtered: the best among the chunks of documents that pass a filter."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from harness.errors import SpecError, suggest
from harness.ranking import filters
from harness.records import Document, Hit, Scalar
from harness.retrievers import CompositeRetriever, Part, SearchContext, retrievers


def _canonical_filter(where: Any) -> str:
    """Return a filter as JSON text, which can be hashed and stand in a label."""
    try:
        parsed = json.loads(where) if isinstance(where, str) else where
        filters.check_filter(parsed)
        return json.dumps(parsed, sort_keys=True, ensure_ascii=False, allow_nan=False)
    except json.JSONDecodeError:
        raise ValueError("a filter is a mapping, {field: value}") from None
    except RecursionError:
        raise ValueError("the filter is nested too deeply") from None


Where = Annotated[str, BeforeValidator(_canonical_filter, json_schema_input_type=dict[str, Any])]


@retrievers.register
@dataclass(frozen=True)
class Filtered(CompositeRetriever):
    """Ranks by `of` the chunks of the documents whose metadata pass the filter `where`, no others.

    The filter is written as Chroma's: `{year: 2024}`, `{year: {$gte: 2020}}`, with $eq, $ne, $gt,
    $gte, $lt, $lte, $in, $nin, and joined by `{$and: [...]}` and `{$or: [...]}`. A field that is
    missing passes $ne and $nin alone. `id` and `title` are fields too. The ranking is that of the
    documents that pass, not what is left of another one: vectors are compared with all of them.
    In an existing collection the metadata are those of each chunk, and of its document besides.
    """

    where: Where
    of: Part = "dense"

    name: ClassVar[str] = "filtered"
    version: ClassVar[int] = 1

    def check(self, documents: Mapping[str, Document] | None) -> None:
        """Raise `SpecError` where no document has a field of the filter."""
        if documents is not None:
            self._passing(documents)
        super().check(documents)

    def retrieve(self, questions: Sequence[str], index: SearchContext, k: int) -> list[list[Hit]]:
        """Return the ranking of each question, empty where no document passes.

        Raises:
            SpecError: no document has a field of the filter.
        """
        chunks = index.chunks
        key = (self.name, self.where)
        allowed = index.once(key, lambda: chunks.rows_of(self._passing(chunks.filterable)))
        (part,) = self.parts()
        return part.retrieve(questions, index.among(allowed), k)

    def _passing(self, documents: Mapping[str, Document]) -> list[str]:
        """Return the names of the documents that pass."""
        where, field_names, passing = json.loads(self.where), set[str](), list[str]()
        for name, document in documents.items():
            values = _values(document)
            field_names.update(values)
            if filters.matches(where, values):
                passing.append(name)
        for field in sorted(filters.filter_fields(where) - field_names):
            message = f"retriever {self.name!r}: where: no document has the field {field!r}"
            raise SpecError(message, suggest(field, field_names))
        return passing


def _values(document: Document) -> dict[str, Scalar]:
    fields = {"id": document.id, "title": document.title} if document.title else {"id": document.id}
    return {**fields, **document.metadata}
