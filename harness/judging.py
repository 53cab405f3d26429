"""Judging: a chat model is asked for verdicts, one thing at a time, and its replies are read."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from math import fsum
from typing import Any, ClassVar, Protocol

from harness import calls, prompts
from harness.chat import ChatModel, Reply
from harness.errors import SpecError
from harness.fingerprint import fingerprint
from harness.needs import Kind
from harness.records import Case, Score, Verdict, not_scored
from harness.registry import given
from harness.unheard import Unheard

TRIES = 3
"""How often a judge is asked where its replies cannot be read."""
_SHOWN = 80
_VERSION = re.compile(r"version: (\d+)\n\n")
_THOUGHT = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_NAMED = (
    r"[\s*_#>`\"'(\[]*"
    r"(?:(?:(?:first )?line(?: 1)?|verdict|answer|score|rating|grade)[\s*_:=`\"']+){0,2}"
)
_YES_NO = re.compile(
    rf"{_NAMED}(yes|no)\b(?!\s*(?:/|or\b|(?:and|but)\s+(?:yes|no)\b))", re.IGNORECASE
)
_GRADE = re.compile(
    rf"{_NAMED}([0-3])(?:\s*(?:/|(?:out\s+)?of\b)\s*3\b)?"
    r"(?![\w%]|\s*out\s+of\b|\s*(?:[-–,./]|to\b|or\b|and\b|of\b)\s*\d)",
    re.IGNORECASE,
)
_BEFORE_REASON = re.compile(r"\A[\W_]*(?:(?:second line|line 2|reason)\b[\W_]*)?", re.IGNORECASE)


class Replies(Protocol):
    """Replies that one judge gave before, by prompt."""

    @property
    def unheard(self) -> Unheard:
        """How often it has failed in a row."""
        ...

    def get(self, prompts: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Return those that are there: all that were given to a prompt, in order."""
        ...

    def put(self, prompt: str, replies: Sequence[Reply]) -> None:
        """Keep the replies to one prompt."""
        ...

    def count(self, replies: Sequence[Reply]) -> None:
        """Count what replies took that are not kept."""
        ...


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to be judged: what it is, for a person to read, and the whole prompt."""

    of: str
    prompt: str


@dataclass(frozen=True)
class ByJudge(ABC):
    """A metric whose value is the mean verdict of a judge, divided by the highest there is."""

    judge: ChatModel | None = given()

    name: ClassVar[str]
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "quality"
    perfect: ClassVar[bool] = True
    top: ClassVar[int] = 3
    """The highest verdict; 1 is yes, and 0 is no."""

    @abstractmethod
    def items(self, case: Case) -> list[Item] | Score:
        """Return what of a case is to be judged, or why the metric does not apply to it."""

    def score_with(self, cases: Sequence[Case], replies: Replies | None = None) -> list[Score]:
        """Score each case; `replies` has what the judge has said before, and keeps the new.

        A case of which one verdict is missing is `judge_failed`, whatever the others are.

        Raises:
            SpecError: there is no judge.
            RunError: it fails on every prompt.
        """
        if self.judge is None:
            raise SpecError(*unjudged(self.name))
        wanted = [self.items(case) for case in cases]
        asked = [item.prompt for each in wanted if not isinstance(each, Score) for item in each]
        said = verdicts(self.judge, asked, self.top, replies)
        return [
            each
            if isinstance(each, Score)
            else self._concluded([replace(said[item.prompt], of=item.of) for item in each])
            for each in wanted
        ]

    def check(self) -> None:
        """Start the judge, which finds a missing library, name or key.

        Raises:
            HarnessError: there is none, or it cannot be started.
        """
        if self.judge is None:
            raise SpecError(*unjudged(self.name))
        self.judge.check()

    def identity(self) -> dict[str, Any]:
        """Return what shaped the values: the judge, and the prompt's version and hash."""
        text = prompts.shipped(f"judge_{self.name}")
        found = _VERSION.match(text)
        assert found is not None, f"judge_{self.name}.txt: its first line must be its version"
        judge = None if self.judge is None else self.judge.identity()
        prompt = {"version": int(found[1]), "hash": fingerprint(text)}
        return {"name": self.name, "version": self.version, "prompt": prompt, "judge": judge}

    def item(self, of: str, **texts: str) -> Item:
        """Return one thing to be judged; each of `texts` fills the place of its name."""
        return Item(of, prompt(self.name, **texts))

    def _concluded(self, found: Sequence[Verdict]) -> Score:
        values = [each.value for each in found if each.value is not None]
        missing = [each for each in found if each.value is None]
        if missing:
            what = "" if len(found) == 1 else f"{len(missing)} of {len(found)} verdicts: "
            return Score(None, what + missing[0].reason, "judge_failed", verdicts=tuple(found))
        reason = found[0].reason if len(found) == 1 else self._sum(values)
        mean = fsum(values) / (self.top * len(values))
        return Score(mean, reason, verdicts=tuple(found))

    def _sum(self, values: Sequence[int]) -> str:
        return f"verdicts {', '.join(map(str, values))} of {self.top}"


def unjudged(name: str) -> tuple[str, str]:
    """Return what is said of a metric that has no judge: the fact, and the remedy."""
    return f"metric {name!r} needs a judge", (
        "name one: `judge: {model: provider:name}`; context_overlap and abstention need neither a "
        "judge nor a reference"
    )


def answer_of(case: Case) -> Score | str:
    """Return the answer of a case, or why there is none to be judged."""
    if case.answer is None:
        return not_scored("nothing was answered")
    if case.answer.declined:
        return not_scored("the system declined")
    if not case.answer.text.strip():
        return not_scored("the answer is empty")
    return case.answer.text


def prompt(name: str, **texts: str) -> str:
    """Return the prompt of a metric, with each of `texts` in the place of its name.

    A line of a text that could pass for one of the prompt's own labels is marked as quoted.
    """
    return prompts.filled(_VERSION.sub("", prompts.shipped(f"judge_{name}"), count=1), **texts)


def verdicts(
    judge: ChatModel,
    asked: Sequence[str],
    top: int,
    replies: Replies | None = None,
    sample: int = 0,
    unheard: Unheard | None = None,
) -> dict[str, Verdict]:
    """Return the verdict on each prompt; one that is there several times is asked once.

    `sample` is the first that the judge is asked for. `unheard` counts its failures; the default is
    that of `replies`, or a new one.

    Raises:
        RunError: it has failed on so many prompts that the others are not asked.
    """
    different = list(dict.fromkeys(asked))
    found = {} if replies is None else _known(replies.get(different), top)
    left = deque(each for each in different if each not in found)
    unheard = unheard or (Unheard() if replies is None else replies.unheard)

    def wanted() -> Iterator[tuple[str, Callable[[], list[Reply]]]]:
        while left and not unheard.hopeless:
            prompt = left.popleft()
            yield prompt, partial(_asked, judge, prompt, top, sample)

    def keep(done: calls.Done[str, list[Reply]]) -> None:
        said = done.answer or []
        verdict = _verdict([reply.text for reply in said], top)
        if done.failure is not None:
            verdict = replace(verdict, reason=done.failure)
        unheard.add(done.failure)
        found[done.key] = verdict
        # What could not be read is no judgement: whoever asks again gets another try.
        if replies is not None and verdict.value is not None:
            replies.put(done.key, said)
        elif replies is not None:
            replies.count(said)

    while left:  # one of those that were on their way may have been answered after all
        with closing(calls.done(wanted(), judge.at_once, keep)) as made:
            for _ in made:
                pass
        unheard.check()
    return found


def read(reply: str, top: int) -> tuple[int, str] | None:
    """Return the verdict at the start of a reply, and the reason behind it; None if there is none.

    What a model thought aloud before, between `<think>` tags, is passed over.
    """
    text = _THOUGHT.sub("", reply)
    found = (_YES_NO if top == 1 else _GRADE).match(text)
    if found is None:
        return None
    value = int(found[1].lower() == "yes") if top == 1 else int(found[1])
    return value, " ".join(_BEFORE_REASON.sub("", text[found.end() :]).split())


def _known(replies: Mapping[str, tuple[str, ...]], top: int) -> dict[str, Verdict]:
    found = {prompt: _verdict(each, top) for prompt, each in replies.items()}
    return {prompt: each for prompt, each in found.items() if each.value is not None}


def _asked(judge: ChatModel, prompt: str, top: int, sample: int) -> list[Reply]:
    """Ask until a reply can be read, each time with another seed; at most `TRIES` times."""
    replies: list[Reply] = []
    while len(replies) < TRIES:
        replies.append(judge.ask(prompt, sample + len(replies)))
        if read(replies[-1].text, top) is not None:
            break
    return replies


def _verdict(replies: Sequence[str], top: int) -> Verdict:
    """Return what came of all replies to one prompt: the first that can be read decides."""
    said = next((found for each in replies if (found := read(each, top)) is not None), None)
    if said is not None:
        return Verdict("", *said, tuple(replies))
    last = replies[-1][:_SHOWN] if replies else ""
    reason = f"no verdict in {len(replies)} replies, the last of them {last!r}"
    return Verdict("", None, reason, tuple(replies))
