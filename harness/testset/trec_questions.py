"""Test-set reader for TREC: topics and their judgements."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from harness import limits
from harness.corpus import Corpus
from harness.errors import Problem
from harness.files import reading
from harness.files.json_lines import JsonLine
from harness.files.reading import FileShape
from harness.files.trec import read_qrels
from harness.records import Question
from harness.testset import Note, readers
from harness.testset.jsonl_questions import resolve_questions

_TOPIC = re.compile(r"<(?:top|topic)\b([^<>]*)>", re.IGNORECASE)
_END = re.compile(r"</(?:top|topic)\b", re.IGNORECASE)
_NUMBER = re.compile(r"""\b(?:number|num|id)\s*=\s*["']([^"']*)["']""")
_LABEL = re.compile(r"\A\s*(?:Number|Topic|Description|Narrative)\s*:", re.IGNORECASE)
_QUESTION_ELEMENTS = ("title", "query", "question", "desc", "description")
_START = re.compile(r"<([A-Za-z][\w-]*)>")
_NEXT = re.compile(
    rf"^[ \t]*{_START.pattern}|<(?:{'|'.join(_QUESTION_ELEMENTS)}|num|number|narr|narrative)>",
    re.IGNORECASE | re.MULTILINE,
)
"""Ends a classic element, which is not closed: a tag that begins a line, or has a known name."""
_TAG = re.compile(r"<[A-Za-z/!][^>]*>?")
"""Anything else behind `<`, as in "BP < 140", is text."""


@dataclass(frozen=True)
class _Topic:
    where: str
    id: str
    elements: Mapping[str, str]
    """The first of each name, its white space as single spaces."""
    tags: Mapping[str, str]
    """A tag within each element that holds one."""


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
    shape: ClassVar[FileShape] = FileShape(suffixes=(".tsv", ".txt", ".xml", ".trec", ".topics"))
    paths: ClassVar[tuple[str, ...]] = ("path", "qrels")

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield the judged topics in the file's order."""
        qrels = read_qrels(Path(self.qrels))
        rows = list(self._rows())
        topics = {row.data["id"] for row in rows if isinstance(row, JsonLine)}
        yield from resolve_questions(_add_judgements(rows, qrels), corpus)
        for id_ in qrels.keys() - topics if topics else ():
            message = f"judges topic {id_!r}, which is not in {Path(self.path).name}"
            yield Problem(Path(self.qrels).name, message)
        if topics - qrels.keys():
            yield Note(f"{len(topics - qrels.keys())} topics are not judged: left out")

    def count_unplaced(self) -> Mapping[str, int]:
        """Return how many values of the file a question has no place for, by their element."""
        counts: dict[str, int] = {}
        for topic in _parse_topics(reading.read_text(Path(self.path))):
            for key in topic.elements.keys() - {"num", "number", self._question_element(topic)}:
                counts[key] = counts.get(key, 0) + 1
        return counts

    def _rows(self) -> Iterator[JsonLine | Problem]:
        text = reading.read_text(Path(self.path))
        if not text.lstrip().startswith("<"):
            yield from _parse_lines(text)
            return
        number = 0
        for number, topic in enumerate(_parse_topics(text), start=1):
            name = self._question_element(topic)
            question = topic.elements.get(name, "")
            if not topic.id or not question:
                elements = ", ".join(topic.elements) or "none"
                message = f"has no {'number' if question else self.element or 'text to ask'}"
                yield Problem(topic.where, message, f"the elements there are: {elements}")
            elif name in topic.tags:
                message = f"its {name} holds the tag {topic.tags[name]!r}"
                hint = "take it out, or write &lt; for a < that is text"
                yield Problem(topic.where, message, hint)
            else:
                yield JsonLine(number, {"id": topic.id, "question": question}, topic.where)
        if not number:
            yield Problem(
                self.path, "holds no <top> and no <topic> element", "or write id<tab>text"
            )

    def _question_element(self, topic: _Topic) -> str:
        return self.element or next(
            (name for name in _QUESTION_ELEMENTS if topic.elements.get(name)), ""
        )


def _parse_lines(text: str) -> Iterator[JsonLine | Problem]:
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"line {number}"
        id_, _, question = (part.strip() for part in line.partition("\t"))
        if line.strip() and not (id_ and question):
            yield Problem(where, "is not a topic", "write id<tab>text")
        elif line.strip():
            yield JsonLine(number, {"id": id_, "question": question}, where)


def _parse_topics(text: str) -> Iterator[_Topic]:
    before, *parts = _TOPIC.split(text)
    line = 1 + before.count("\n")
    for attributes, body in zip(parts[::2], parts[1::2], strict=True):
        content = _END.split(body)[0]
        fields: dict[str, str] = {}
        tags: dict[str, str] = {}
        for start in _START.finditer(content):
            name = start[1].lower()
            closing = re.compile(rf"</{name}\b", re.IGNORECASE).search(content, start.end())
            end = closing or _NEXT.search(content, start.end())
            text = content[start.end() : end.start() if end else len(content)]
            if name not in fields and (tag := _TAG.search(text)):
                tags[name] = tag[0][: limits.MAX_VALUE_QUOTE_CHARS]
            fields.setdefault(name, " ".join(_LABEL.sub("", html.unescape(text)).split()))
        number = _NUMBER.search(attributes)
        id_ = html.unescape(number[1]) if number else fields.get("num", fields.get("number", ""))
        yield _Topic(f"line {line}", id_, fields, tags)
        line += attributes.count("\n") + body.count("\n")


def _add_judgements(
    rows: list[JsonLine | Problem], qrels: Mapping[str, Mapping[str, int]]
) -> Iterator[JsonLine | Problem]:
    for row in rows:
        if isinstance(row, Problem):
            yield row
        elif row.data["id"] in qrels:
            data: dict[str, Any] = {**row.data, "documents": dict(qrels[row.data["id"]])}
            yield JsonLine(row.line, data, row.where)
