"""Test-set reader for SQuAD: questions whose answers are spans of a paragraph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from harness.corpus import Corpus
from harness.corpus.squad_documents import (
    NEAR_NOTE,
    SquadAnswer,
    SquadParagraph,
    SquadQuestion,
    find_near,
    read_paragraphs,
)
from harness.errors import Problem
from harness.files.json_lines import JsonLine
from harness.files.reading import FileShape
from harness.records import Question
from harness.testset import Note, readers
from harness.testset.jsonl_questions import resolve_questions, shorten_quote
from harness.text.words import normalise


@readers.register
@dataclass(frozen=True)
class Squad:
    """A SQuAD file, 1.1 or 2.0; the places of the answers are the evidence.

    Several places of one question's answer are alternatives. Its paragraph is the one relevant
    document. Impossible questions are unanswerable. Goes with `corpus: {squad: FILE}`.
    """

    path: str

    name: ClassVar[str] = "squad"
    version: ClassVar[int] = 1
    shape: ClassVar[FileShape] = FileShape(suffixes=(".json",), key="paragraphs")

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield the questions in the file's order."""
        yield from resolve_questions(self._rows(), corpus)

    def count_unplaced(self) -> Mapping[str, int]:
        """Return how many values of the file a question has no place for, by their key."""
        questions_asked = (
            item for paragraph in read_paragraphs(Path(self.path)) for item in paragraph.questions
        )
        return {"plausible_answers": sum(len(item.plausible_answers) for item in questions_asked)}

    def _rows(self) -> Iterator[JsonLine | Problem | Note]:
        number = 0
        for paragraph in read_paragraphs(Path(self.path)):
            for question in paragraph.questions:
                number += 1
                where = f"question {question.id!r}"
                starts = [
                    find_near(paragraph.text, answer.text, answer.answer_start)
                    for answer in question.answers
                ]
                problems = list(_find_problems(where, paragraph, question, starts))
                yield from problems
                if problems:
                    continue
                answers = [
                    answer.model_copy(update={"answer_start": start})
                    for answer, start in zip(question.answers, starts, strict=True)
                ]
                if answers != question.answers:
                    yield Note(NEAR_NOTE)
                yield JsonLine(number, _build_row(paragraph, question, answers), where)


def _find_problems(
    where: str, paragraph: SquadParagraph, question: SquadQuestion, starts: Sequence[int | None]
) -> Iterator[Problem]:
    for answer, start in zip(question.answers, starts, strict=True):
        if not answer.text.strip():
            yield Problem(where, "has an answer without text", "take it out")
        elif start is None:
            text = paragraph.text[answer.answer_start :][: len(answer.text)]
            message = f"the answer {shorten_quote(answer.text)} is not at {answer.answer_start}"
            position = paragraph.text.find(answer.text)
            hint = f"it stands at {position}" if position >= 0 else "it is nowhere in the paragraph"
            yield Problem(where, f"{message}: the text there is {shorten_quote(text)}", hint)


def _build_row(
    paragraph: SquadParagraph, question: SquadQuestion, answers: Sequence[SquadAnswer]
) -> dict[str, Any]:
    answerable = not question.is_impossible
    return {
        "id": question.id,
        "question": question.question,
        "answers": list(dict.fromkeys(answer.text for answer in answers)),
        "evidence": [
            {"doc": paragraph.id, "start": start, "end": end, "quote": quote, "group": "answer"}
            for start, end, quote in dict.fromkeys(
                _normalise_place(paragraph.text, answer) for answer in answers
            )
        ],
        "documents": {paragraph.id: 1} if answerable else None,
        "answerable": answerable,
    }


def _normalise_place(text: str, answer: SquadAnswer) -> tuple[int, int, str]:
    """Return where an answer stands, and reads, once the text is normalised."""
    quote = normalise(answer.text)
    start = len(normalise(text[: answer.answer_start]))
    return start, start + len(quote), quote
