"""What a chat model is asked about a draft, and how its replies are read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness import judging, prompts
from harness.chat import Reply
from harness.corpus import normalised
from harness.drafting.categories import Category
from harness.errors import StageError
from harness.records import Chunk
from harness.rephrasing import Wanted

_LABEL = re.compile(
    r"^[ \t>*_#`-]*(question|answer|evidence)[ \t]*\d?[ \t*_`]*:[ \t*_`]*", re.IGNORECASE | re.M
)
_THOUGHT = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_QUOTES = "\"'`*“”„«»_ \t\n"
_REMINDER = "Your last reply could not be read. Begin each line with its label, as it stands above."


@dataclass(frozen=True)
class Said:
    """A question as the model wrote it, its answer, and what it quotes of its passages."""

    question: str
    answer: str = ""
    quotes: tuple[str, ...] = ()


def draft(
    category: Category, passages: Sequence[Chunk], titles: Sequence[str], again: bool = False
) -> Wanted[Said | None]:
    """Return the prompt for one question; what is read is None where the reply has another form.

    `again` reminds of the form.
    """
    shown = "\n\n".join(
        f'<passage number="{at}" document="{prompts.untagged(title)}">\n'
        f"{prompts.untagged(each.text)}\n</passage>"
        for at, (each, title) in enumerate(zip(passages, titles, strict=True), 1)
    )
    if category.answerable:
        evidence = "\n".join(
            f"EVIDENCE {at}: one sentence of passage {at} that the answer rests on, copied word "
            "for word"
            for at in range(1, len(passages) + 1)
        )
        text = _prompt("question", passages=shown, asks=category.asks, evidence=evidence)
    else:
        text = _prompt("unanswerable", passages=shown)
    read = _answerable if category.answerable else _unanswerable
    return Wanted(f"{text}\n\n{_REMINDER}" if again else text, int(again), read)


def supported(said: Said, evidence: Sequence[str]) -> Wanted[bool]:
    """Return what is asked of an answer: does the evidence support it."""
    texts = {"question": said.question, "answer": said.answer, "evidence": "\n".join(evidence)}
    safe = {place: prompts.untagged(text) for place, text in texts.items()}
    return Wanted(_prompt("supported", **safe), 0, _verdict)


def answered(question: str, context: str) -> Wanted[bool]:
    """Return what is asked of a question that should have no answer: does the context hold one."""
    texts = {"question": prompts.untagged(question), "context": prompts.untagged(context)}
    return Wanted(_prompt("answered", **texts), 0, _verdict)


def closed(question: str) -> Wanted[str]:
    """Return what is asked of a question to see whether the model knows the answer by itself."""
    return Wanted(prompts.filled(prompts.shipped("draft_closed"), question=question), 0, _text)


def _prompt(name: str, **texts: str) -> str:
    return prompts.shipped(f"draft_{name}").format(**texts)


def _answerable(reply: Reply) -> Said | None:
    found = _parts(reply)
    question, answer = (next(iter(found.get(key, ())), "") for key in ("question", "answer"))
    quotes = tuple(normalised(each) for each in found.get("evidence", ()))
    complete = bool(_line(question) and _line(answer) and quotes)
    return Said(_line(question), _line(answer), quotes) if complete else None


def _unanswerable(reply: Reply) -> Said | None:
    (question, *_) = _parts(reply).get("question", [""])
    alone = _THOUGHT.sub("", reply.text).strip(_QUOTES)
    if not question and alone.endswith("?") and "\n" not in alone:
        question = alone  # where one line is all that is wanted, its label is easily forgotten
    return Said(_line(question)) if _line(question) else None


def _parts(reply: Reply) -> dict[str, list[str]]:
    """Return what stands behind each label; where the model wrote several drafts, of the first."""
    text = _THOUGHT.sub("", reply.text)
    labels = list(_LABEL.finditer(text))
    found: dict[str, list[str]] = {}
    for at, label in enumerate(labels):
        key, end = label[1].lower(), labels[at + 1].start() if labels[at + 1 :] else len(text)
        if key == "question" and key in found:
            break
        value = text[label.end() : end].strip(_QUOTES)
        if any(map(str.isalnum, value)):
            found.setdefault(key, []).append(value)
    return found


def _line(text: str) -> str:
    """Return the first paragraph on one line: models like to explain themselves below."""
    return normalised(" ".join(re.split(r"\n\s*\n", text)[0].split()))


def _verdict(reply: Reply) -> bool:
    found = judging.read(reply.text, 1)
    if found is None:
        raise StageError(f"neither yes nor no: {reply.text[:80]!r}")
    return bool(found[0])


def _text(reply: Reply) -> str:
    return _THOUGHT.sub("", reply.text).strip()
