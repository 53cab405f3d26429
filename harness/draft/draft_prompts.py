"""Prompts for drafting and checking a question, and the parsing of their replies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.draft.categories import DraftCategory
from harness.errors import StageError
from harness.metrics import judge
from harness.models import prompts
from harness.models.chat import ChatReply
from harness.models.rephrasing import PromptRequest
from harness.records import Chunk
from harness.text.normal_form import normalise

_LABEL = re.compile(
    r"^[ \t>*_#`-]*(question|answer|evidence)[ \t]*\d?[ \t*_`]*:[ \t*_`]*", re.IGNORECASE | re.M
)
_THOUGHT = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_QUOTES = "\"'`*“”„«»_ \t\n"
_REMINDER = "Your last reply could not be read. Begin each line with its label, as it stands above."


@dataclass(frozen=True)
class DraftReply:
    """A question as the model wrote it, its answer, and what it quotes of its passages."""

    question: str
    answer: str = ""
    quotes: tuple[str, ...] = ()


def question_request(
    category: DraftCategory, passages: Sequence[Chunk], titles: Sequence[str], again: bool = False
) -> PromptRequest[DraftReply | None]:
    """Return the prompt for one question; what is read is None where the reply has another form.

    `again` reminds of the form.
    """
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
        text = _fill_prompt(
            "question", passages=passage_text, asks=category.asks, evidence=evidence
        )
    else:
        text = _fill_prompt("unanswerable", passages=passage_text)
    read = _parse_answerable if category.answerable else _parse_unanswerable
    return PromptRequest(f"{text}\n\n{_REMINDER}" if again else text, int(again), read)


def support_request(draft: DraftReply, evidence: Sequence[str]) -> PromptRequest[bool]:
    """Return what is asked of an answer: does the evidence support it."""
    texts = {"question": draft.question, "answer": draft.answer, "evidence": "\n".join(evidence)}
    safe = {place: prompts.escape_tags(text) for place, text in texts.items()}
    return PromptRequest(_fill_prompt("supported", **safe), 0, _parse_verdict)


def answerable_request(question: str, context: str) -> PromptRequest[bool]:
    """Return what is asked of a question that should have no answer: does the context hold one."""
    texts = {"question": prompts.escape_tags(question), "context": prompts.escape_tags(context)}
    return PromptRequest(_fill_prompt("answered", **texts), 0, _parse_verdict)


def closed_book_request(question: str) -> PromptRequest[str]:
    """Return what is asked of a question to see whether the model knows the answer by itself."""
    return PromptRequest(
        prompts.fill_template(prompts.load_prompt("draft_closed"), question=question),
        0,
        _parse_text,
    )


def _fill_prompt(name: str, **texts: str) -> str:
    return prompts.load_prompt(f"draft_{name}").format(**texts)


def _parse_answerable(reply: ChatReply) -> DraftReply | None:
    parts = _split_labels(reply)
    question, answer = (next(iter(parts.get(key, ())), "") for key in ("question", "answer"))
    quotes = tuple(normalise(quote) for quote in parts.get("evidence", ()))
    complete = bool(_first_paragraph(question) and _first_paragraph(answer) and quotes)
    return (
        DraftReply(_first_paragraph(question), _first_paragraph(answer), quotes)
        if complete
        else None
    )


def _parse_unanswerable(reply: ChatReply) -> DraftReply | None:
    (question, *_) = _split_labels(reply).get("question", [""])
    alone = _THOUGHT.sub("", reply.text).strip(_QUOTES)
    if not question and alone.endswith("?") and "\n" not in alone:
        question = alone  # where one line is all that is wanted, its label is easily forgotten
    return DraftReply(_first_paragraph(question)) if _first_paragraph(question) else None


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


def _parse_verdict(reply: ChatReply) -> bool:
    verdicts = judge.parse_reply(reply.text, 1)
    if verdicts is None:
        raise StageError(f"neither yes nor no: {reply.text[:80]!r}")
    return bool(verdicts[0])


def _parse_text(reply: ChatReply) -> str:
    return _THOUGHT.sub("", reply.text).strip()
