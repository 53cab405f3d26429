"""CSV: one document a row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from harness.converting import FORMATS, table
from harness.converting.kept import Composed, Origin
from harness.corpus import OnError, contents, normalised, readers
from harness.errors import Problem, suggest
from harness.records import Document, Scalar

_IDS = ("id", "_id")


def _listed(given: Any) -> Any:
    """Accept one column where several are expected."""
    return (given,) if isinstance(given, str) else given


@readers.register
@dataclass(frozen=True)
class Csv:
    """A .csv or .tsv file whose first line names its columns: each row is a document.

    Its text is the `text` columns as lines of `column: value`, or the bare value where there is
    one such column; by default all but `id` and `title`. Columns that are none of these are
    metadata. Without a column for the id, rows are numbered from 1.
    """

    path: str
    id: str | None = None
    text: Annotated[
        tuple[str, ...], BeforeValidator(_listed, json_schema_input_type=str | tuple[str, ...])
    ] = ()
    title: str | None = None
    on_error: OnError = "fail"

    name: ClassVar[str] = "csv"
    version: ClassVar[int] = 1

    @classmethod
    def accepts(cls, path: Path) -> bool:
        """Return whether `path` is a file of that name."""
        return path.is_file() and path.suffix.lower() in (".csv", ".tsv")

    def read(self) -> Iterator[Document | Composed | Problem]:
        """Yield the documents in the file's order."""
        raw = contents(Path(self.path), "the file")
        if isinstance(raw, Problem):
            yield raw
            return
        found = table.rows(raw)
        if isinstance(found, Problem):
            yield found
            return
        columns = found[0].columns if found else ()
        problems = list(self._unknown(columns))
        source = f"sha256:{hashlib.sha256(raw).hexdigest()}"
        yield from problems or self._documents(found, columns, source)

    def _unknown(self, columns: Sequence[str]) -> Iterator[Problem]:
        named = [each for each in (self.id, self.title, *self.text) if each is not None]
        for each in named:
            if columns and each not in columns:
                yield Problem("line 1", f"no column is named {each!r}", suggest(each, columns))

    def _documents(
        self, found: Sequence[table.Row], columns: Sequence[str], source: str
    ) -> Iterator[Document | Composed | Problem]:
        id_ = self.id or next((each for each in _IDS if each in columns), None)
        title = self.title or ("title" if "title" in columns else None)
        shown = self.text or tuple(each for each in columns if each not in (id_, title))
        origin = Origin(source, FORMATS[".csv"].name)
        seen: dict[str, int] = {}
        for number, row in enumerate(found, start=1):
            values = row.values
            own = normalised(values[id_]).strip() if id_ else str(number)
            if not own:
                yield Problem(row.where, f"the id in column {id_!r} is empty", "name each row")
            elif own in seen:
                what = f"the id {own!r} is taken by line {seen[own]}"
                yield Problem(row.where, what, "make each id unique: labels name documents by it")
            else:
                seen[own] = row.line
                text = normalised(_text(values, shown))
                titled = normalised(values[title]).strip() if title else ""
                rest = {k: v for k, v in values.items() if k not in (id_, title, *shown)}
                metadata = {key: _scalar(value) for key, value in rest.items() if value.strip()}
                document = Document(own, text, titled, metadata)
                yield document if len(shown) == 1 else Composed(document, origin)


def _text(values: Mapping[str, str], shown: tuple[str, ...]) -> str:
    if len(shown) == 1:
        return values[shown[0]]
    return table.described({name: values[name] for name in shown})


def _scalar(value: str) -> Scalar:
    """Return a number where `value` is written as one, so that filters compare it as such."""
    value = value.strip()
    for kind in (int, float):
        try:
            number: Scalar = kind(value)
        except ValueError:
            continue
        # `007`, `1_000` and `nan` are texts.
        if str(number) == value and value.lstrip("-")[:1].isdigit():
            return number
    return value
