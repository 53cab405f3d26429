"""Categories of drafted questions, the prompts for drafting and checking, and their replies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.errors import HarnessError, StageError, suggest
from harness.metrics import judge
from harness.models import prompts
from harness.models.chat.settings import ChatReply
from harness.models.rephrasing import PromptRequest
from harness.records import Chunk, Document
from harness.text.words import normalise

_LABEL = re.compile(
    r"^[ \t>*_#`-]*(question|answer|evidence)[ \t]*\d?[ \t*_`]*:[ \t*_`]*", re.IGNORECASE | re.M
)
_THOUGHT = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_QUOTES = "\"'`*“”„«»_ \t\n"
_UNANSWERABLE_SHARE = 0.125
_REMINDER = "Your last reply could not be read. Begin each line with its label, as it stands above."


@dataclass(frozen=True)
class DraftCategory:
    """A kind of question: the passages it is drafted from, each of another document."""

    name: str
    passages: int
    asks: str

    @property
    def answerable(self) -> bool:
        """Whether the corpus holds the answer."""
        return self is not UNANSWERABLE


UNANSWERABLE = DraftCategory("unanswerable", 1, "what the passage does not say")
CATEGORIES = (
    DraftCategory("direct_fact", 1, "one fact that the passage states"),
    DraftCategory(
        "temporal", 1, "a date or an order: when something happens, or what comes before it"
    ),
    DraftCategory("comparative", 2, "a difference: what is said of two things, set side by side"),
    DraftCategory("numerical", 1, "a figure: an amount, a number, a share or a limit"),
    DraftCategory("relationship", 2, "how two people, groups, products or events are linked"),
    DraftCategory("spanning", 2, "two facts that belong together, one of each passage"),
    DraftCategory("holistic", 3, "what all the passages have in common"),
    UNANSWERABLE,
)


def choose_categories(names: Sequence[str], documents: int) -> list[DraftCategory]:
    """Return the categories of these names, or all that `documents` documents are enough for.

    Raises:
        HarnessError: a name is unknown, or its questions need several documents and there is one.
    """
    by_name = {category.name: category for category in CATEGORIES}
    for name in names:
        if name not in by_name:
            raise HarnessError(f"unknown category {name!r}\n  {suggest(name, by_name)}")
        if by_name[name].passages > 1 and documents < 2:
            single = ", ".join(category.name for category in CATEGORIES if category.passages == 1)
            raise HarnessError(
                f"category {name!r} needs passages of two documents, and the corpus has one\n"
                f"  choose from: {single}"
            )
    requested = [by_name[name] for name in dict.fromkeys(names)]
    return requested or [
        category for category in CATEGORIES if category.passages == 1 or documents > 1
    ]


def spread_categories(n: int, categories: Sequence[DraftCategory]) -> list[DraftCategory]:
    """Return the category of each of `n` questions: one eighth unanswerable, the rest in turn."""
    others = [category for category in categories if category.answerable]
    if not others:
        return [UNANSWERABLE] * n
    none = round(_UNANSWERABLE_SHARE * n) if UNANSWERABLE in categories else 0
    every = n // none if none else 0
    slots: list[DraftCategory] = []
    for position in range(n):
        refused = slots.count(UNANSWERABLE)
        last = none and refused < none and (position + 1) % every == 0
        slots.append(UNANSWERABLE if last else others[(position - refused) % len(others)])
    return slots


@dataclass(frozen=True)
class DraftReply:
    """A question as the model wrote it, its answer, and what it quotes of its passages."""

    question: str
    answer: str = ""
    quotes: tuple[str, ...] = ()


def question_request(
    category: DraftCategory,
    passages: Sequence[Chunk],
    documents: Mapping[str, Document],
    again: bool = False,
) -> PromptRequest[DraftReply | None]:
    """Return the prompt for one question; what is read is None where the reply has another form.

    `again` reminds of the form.
    """
    titles = [documents[passage.span.doc].title or passage.span.doc for passage in passages]
    passage_text = "\n\n".join(
        f'<passage number="{number}" document="{prompts.escape_tags(title)}">\n'
        f"{prompts.escape_tags(passage.text)}\n</passage>"
        for number, (passage, title) in enumerate(zip(passages, titles, strict=True), 1)
    )
    if category.answerable:
        evidence = "\n".join(
            f"EVIDENCE {number}: one sentence of passage {number} that the answer rests on, copied "
            "word for word"
            for number in range(1, len(passages) + 1)
        )
        text = prompts.load_prompt("draft_question").format(
            passages=passage_text, asks=category.asks, evidence=evidence
        )
    else:
        text = prompts.load_prompt("draft_unanswerable").format(passages=passage_text)
    read = _parse_answerable if category.answerable else _parse_unanswerable
    return PromptRequest(f"{text}\n\n{_REMINDER}" if again else text, int(again), read)


def support_request(draft: DraftReply, evidence: Sequence[str]) -> PromptRequest[bool]:
    """Return what is asked of an answer: does the evidence support it."""
    texts = {"question": draft.question, "answer": draft.answer, "evidence": "\n".join(evidence)}
    return _verdict_request("draft_supported", texts)


def answerable_request(question: str, context: str) -> PromptRequest[bool]:
    """Return what is asked of a question that should have no answer: does the context hold one."""
    return _verdict_request("draft_answered", {"question": question, "context": context})


def _verdict_request(prompt: str, texts: Mapping[str, str]) -> PromptRequest[bool]:
    safe = {place: prompts.escape_tags(text) for place, text in texts.items()}

    def parse(reply: ChatReply) -> bool:
        verdicts = judge.parse_reply(reply.text, 1)
        if verdicts is None:
            raise StageError(f"neither yes nor no: {reply.text[:80]!r}")
        return bool(verdicts[0])

    return PromptRequest(prompts.load_prompt(prompt).format(**safe), 0, parse)


def closed_book_request(question: str) -> PromptRequest[str]:
    """Return what is asked of a question to see whether the model knows the answer by itself."""
    text = prompts.fill_template(prompts.load_prompt("draft_closed"), question=question)
    return PromptRequest(text, 0, lambda reply: _THOUGHT.sub("", reply.text).strip())


def _parse_answerable(reply: ChatReply) -> DraftReply | None:
    parts = _split_labels(reply)
    question, answer = (_first_paragraph(parts.get(key, [""])[0]) for key in ("question", "answer"))
    quotes = tuple(normalise(quote) for quote in parts.get("evidence", ()))
    return DraftReply(question, answer, quotes) if question and answer and quotes else None


def _parse_unanswerable(reply: ChatReply) -> DraftReply | None:
    question = _split_labels(reply).get("question", [""])[0]
    alone = _THOUGHT.sub("", reply.text).strip(_QUOTES)
    if not question and alone.endswith("?") and "\n" not in alone:
        question = alone  # where one line is all that is wanted, its label is easily forgotten
    question = _first_paragraph(question)
    return DraftReply(question) if question else None


def _split_labels(reply: ChatReply) -> dict[str, list[str]]:
    """Return what stands behind each label; where the model wrote several drafts, of the first."""
    text = _THOUGHT.sub("", reply.text)
    labels = list(_LABEL.finditer(text))
    parts: dict[str, list[str]] = {}
    for index, label in enumerate(labels):
        key, end = label[1].lower(), labels[index + 1].start() if labels[index + 1 :] else len(text)
        if key == "question" and key in parts:
            break
        value = text[label.end() : end].strip(_QUOTES)
        if any(map(str.isalnum, value)):
            parts.setdefault(key, []).append(value)
    return parts


def _first_paragraph(text: str) -> str:
    """Return the first paragraph on one line: models like to explain themselves below."""
    return normalise(" ".join(re.split(r"\n\s*\n", text)[0].split()))
