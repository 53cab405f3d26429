"""Size limit of the report page: which texts of a large run are left out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from harness.records import Outcome, Score

Kind = Literal["reasons", "verdicts", "samples", "prompts", "contexts"]
"""What can be left out, the last first."""
MAX_CHARACTERS = 24_000_000
"""Characters, each text of a question counted once: they come to some 8 MB of the page."""


class TextSizes:
    """Counts the characters of each kind of text, question by question."""

    def __init__(self) -> None:
        self._characters: dict[Kind, int] = dict.fromkeys(get_args(Kind), 0)

    def add(self, records: Sequence[Outcome | None]) -> None:
        """Count the texts of one question's records, equal ones once."""
        texts_by_kind: dict[Kind, set[str]] = {kind: set() for kind in self._characters}
        for record in records:
            for kind, text in _texts(record) if record is not None else ():
                texts_by_kind[kind].add(text)
        for kind, kind_texts in texts_by_kind.items():
            self._characters[kind] += sum(map(len, kind_texts))

    def left_out(self, max_characters: int) -> list[Kind]:
        """Return the kinds that do not fit, where there is room for so many characters."""
        missing: list[Kind] = []
        for kind, characters in self._characters.items():
            if characters > max_characters:
                missing.append(kind)
            else:
                max_characters -= characters
        return missing


def _texts(record: Outcome) -> Iterator[tuple[Kind, str]]:
    for score in record.scores.values():
        yield "reasons", score.reason
        for text in _verdicts(score):
            yield "verdicts", text
    for sample in record.samples:
        yield "samples", sample.answer or ""
        for score in sample.scores.values():
            yield "samples", score.reason
            for text in _verdicts(score):
                yield "samples", text
    for text in record.prompt:
        yield "prompts", text
    if isinstance(record.context, str):
        yield "contexts", record.context


def _verdicts(score: Score) -> Iterator[str]:
    for verdict in score.verdicts:
        yield from (verdict.of, verdict.reason, *verdict.replies)
