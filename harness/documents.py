"""Documents in a temporary file, so that memory does not grow with the text of a corpus."""

from __future__ import annotations

import json
import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping

from harness.records import Document

_IN_MEMORY = 1 << 24
"""Bytes up to which no file is needed."""
_ENCODED = ("utf-8", "surrogatepass")
_RECENT = 1 << 23
"""Characters kept at hand, as the chunks of one document are asked for one after the other."""


class Documents(Mapping[str, Document]):
    """Documents by id, in the order they were added; `values` reads them one at a time."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  lives on
        weakref.finalize(self, self._file.close)
        self._places: dict[str, int] = {}
        self._recent: OrderedDict[str, Document] = OrderedDict()
        self._size = 0
        self._end = 0

    def add(self, document: Document) -> None:
        """Add a document, whose id must be new.

        Raises:
            OSError: the temporary file cannot be written.
        """
        assert document.id not in self._places, "the corpus checks its ids"
        # Without JSON's own escapes, which would make one character of two halves of a pair.
        line = json.dumps(_fields(document), ensure_ascii=False) + "\n"
        self._file.seek(self._end)
        self._places[document.id] = self._end
        self._end += self._file.write(line.encode(*_ENCODED))

    def __getitem__(self, id_: str) -> Document:
        if id_ in self._recent:
            self._recent.move_to_end(id_)
            return self._recent[id_]
        self._file.seek(self._places[id_])
        document = Document(*json.loads(self._file.readline().decode(*_ENCODED)))
        self._recent[id_] = document
        self._size += len(document.text)
        while self._size > _RECENT and len(self._recent) > 1:
            _, oldest = self._recent.popitem(last=False)
            self._size -= len(oldest.text)
        return document

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._places


def _fields(document: Document) -> list[object]:
    return [document.id, document.text, document.title, dict(document.metadata)]
