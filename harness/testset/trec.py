"""TREC: topics, and the judgements of them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from harness import wholefile
from harness.corpus import Corpus
from harness.errors import DataError, Problem
from harness.records import Question
from harness.testset import Note, readers
from harness.testset.jsonl import PlacedRow, questions
from harness.trec import read_qrels

_TOPIC = re.compile(r"<(?:top|topic)\b([^<>]*)>", re.IGNORECASE)
_END = re.compile(r"</(?:top|topic)\b", re.IGNORECASE)
_ELEMENT = re.compile(r"<([A-Za-z][\w-]*)>((?:[^<]|<(?![A-Za-z/!]))*)")
"""Its text reaches to the next tag: `<` before anything else, as in "BP < 140", is text."""
_NUMBER = re.compile(r"""\b(?:number|num|id)\s*=\s*["']([^"']*)["']""")
_LABEL = re.compile(r"\A\s*(?:Number|Topic|Description|Narrative)\s*:", re.IGNORECASE)
_ASKED = ("title", "query", "question", "desc", "description")
_NAMED = (*_ASKED, "num", "number", "narr", "narrative")
_SUFFIXES = (".tsv", ".txt", ".xml", ".trec", ".topics")


@dataclass(frozen=True)
class _Topic:
    where: str
    id: str
    body: str
    elements: Mapping[str, str]
    """The first of each name, its white space as single spaces."""

    def after(self, name: str) -> str:
        """Return the tag that cuts an element short; "" where the element is whole.

        Classic elements are not closed: the next one ends them, which begins a line or has one of
        the known names.
        """
        found = next(each for each in _ELEMENT.finditer(self.body) if each[1].lower() == name)
        rest = self.body[found.end() :]
        closing = f"</{name}"
        if closing in rest.lower():
            whole = rest.lower().startswith(closing)
        else:
            tag = re.match(r"<([A-Za-z][\w-]*)", rest)
            known = tag is not None and tag[1].lower() in _NAMED
            whole = not rest or known or (tag is not None and found[2].rstrip(" \t")[-1:] == "\n")
        return "" if whole else rest[: rest.find(">") + 1][:40] or rest[:20]


@readers.register
@dataclass(frozen=True)
class Trec:
    """TREC topics, `id<tab>text` lines or tagged ones, with judgements: `qrels`.

    The tags are `<top>`, of the classic form, or `<topic>`, of XML. `element` names what of a
    topic is asked: title, query, question, desc or narr; by default the first that is there.
    Topics without a judgement are left out, and counted.
    """

    path: str
    qrels: str
    element: str | None = None

    name: ClassVar[str] = "trec"
    version: ClassVar[int] = 1
    paths: ClassVar[tuple[str, ...]] = ("path", "qrels")

    @classmethod
    def accepts(cls, path: Path) -> bool:
        """Return whether `path` is a file that is named as such files are."""
        return path.is_file() and path.suffix.lower() in _SUFFIXES

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield the judged topics in the file's order."""
        try:
            judged = read_qrels(Path(self.qrels))
        except DataError as error:
            for each in error.problems:
                yield Problem(f"{Path(self.qrels).name}, {each.where}", each.what, each.hint)
            return
        rows = list(self._rows())
        topics = {row.data["id"] for row in rows if isinstance(row, PlacedRow)}
        yield from questions(_judged(rows, judged), corpus)
        for id_ in judged.keys() - topics if topics else ():
            what = f"judges topic {id_!r}, which is not in {Path(self.path).name}"
            yield Problem(Path(self.qrels).name, what)
        if topics - judged.keys():
            yield Note(f"{len(topics - judged.keys())} topics are not judged: left out")

    def unplaced(self) -> Mapping[str, int]:
        """Return how many values of the file a question has no place for, by their element."""
        found: dict[str, int] = {}
        for topic in _topics(wholefile.text(Path(self.path))):
            for key in topic.elements.keys() - {"num", "number", self._asked(topic)}:
                found[key] = found.get(key, 0) + 1
        return found

    def _rows(self) -> Iterator[PlacedRow | Problem]:
        text = wholefile.text(Path(self.path))
        if not text.lstrip().startswith("<"):
            yield from _lines(text)
            return
        number = 0
        for number, topic in enumerate(_topics(text), start=1):
            name = self._asked(topic)
            asked = topic.elements.get(name, "")
            if not topic.id or not asked:
                known = ", ".join(topic.elements) or "none"
                what = f"has no {'number' if asked else self.element or 'text to ask'}"
                yield Problem(topic.where, what, f"the elements there are: {known}")
            elif tag := topic.after(name):
                what = f"its {name} holds the tag {tag!r}, and would end there"
                yield Problem(topic.where, what, "take it out, or write &lt; for a < that is text")
            else:
                yield PlacedRow(number, {"id": topic.id, "question": asked}, topic.where)
        if not number:
            yield Problem(
                self.path, "holds no <top> and no <topic> element", "or write id<tab>text"
            )

    def _asked(self, topic: _Topic) -> str:
        return self.element or next((name for name in _ASKED if topic.elements.get(name)), "")


def _lines(text: str) -> Iterator[PlacedRow | Problem]:
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"line {number}"
        id_, _, asked = (part.strip() for part in line.partition("\t"))
        if line.strip() and not (id_ and asked):
            yield Problem(where, "is not a topic", "write id<tab>text")
        elif line.strip():
            yield PlacedRow(number, {"id": id_, "question": asked}, where)


def _topics(text: str) -> Iterator[_Topic]:
    before, *parts = _TOPIC.split(text)
    line = 1 + before.count("\n")
    for named, body in zip(parts[::2], parts[1::2], strict=True):
        own = _END.split(body)[0]
        said: dict[str, str] = {}
        for name, value in _ELEMENT.findall(own):
            said.setdefault(name.lower(), " ".join(_LABEL.sub("", html.unescape(value)).split()))
        number = _NUMBER.search(named)
        id_ = html.unescape(number[1]) if number else said.get("num", said.get("number", ""))
        yield _Topic(f"line {line}", id_, own, said)
        line += named.count("\n") + body.count("\n")


def _judged(
    rows: list[PlacedRow | Problem], judged: Mapping[str, Mapping[str, int]]
) -> Iterator[PlacedRow | Problem]:
    for row in rows:
        if isinstance(row, Problem):
            yield row
        elif row.data["id"] in judged:
            data: dict[str, Any] = {**row.data, "documents": dict(judged[row.data["id"]])}
            yield PlacedRow(row.line, data, row.where)
