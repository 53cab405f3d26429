"""Asks a chat model, the judge, for verdicts one item at a time and parses its replies."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import fsum
from typing import Any, ClassVar

from harness.errors import SpecError
from harness.fingerprint import fingerprint
from harness.metrics.failures import failure_of
from harness.metrics.judge_replies import CircuitBreaker, JudgeReplies
from harness.metrics.needs import QualityMetric, ScoringContext
from harness.models import concurrency, prompts
from harness.models.chat import ChatModel
from harness.models.chat.settings import ChatReply
from harness.records import Case, Score, Verdict, not_scored
from harness.registry import injected

MAX_TRIES = 3
"""How often a judge is asked where its replies cannot be read."""
_MAX_SHOWN_CHARS = 80
_VERSION = re.compile(r"version: (\d+)\n\n")
_THOUGHT = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_LABEL_PREFIX = (
    r"[\s*_#>`\"'(\[]*"
    r"(?:(?:(?:first )?line(?: 1)?|verdict|answer|score|rating|grade)[\s*_:=`\"']+){0,2}"
)
_YES_NO = re.compile(
    rf"{_LABEL_PREFIX}(yes|no)\b(?!\s*(?:/|or\b|(?:and|but)\s+(?:yes|no)\b))", re.IGNORECASE
)
_GRADE = re.compile(
    rf"{_LABEL_PREFIX}([0-3])(?:\s*(?:/|(?:out\s+)?of\b)\s*3\b)?"
    r"(?![\w%]|\s*out\s+of\b|\s*(?:[-–,./]|to\b|or\b|and\b|of\b)\s*\d)",
    re.IGNORECASE,
)
_BEFORE_REASON = re.compile(r"\A[\W_]*(?:(?:second line|line 2|reason)\b[\W_]*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """One thing to be judged: what it is, for a person to read, and the whole prompt."""

    of: str
    prompt: str


@dataclass(frozen=True)
class MeanVerdictMetric(QualityMetric, ABC):
    """A metric whose value is the mean verdict of a judge, divided by the highest there is."""

    judge: ChatModel | None = injected()

    top: ClassVar[int] = 3
    """The highest verdict; 1 is yes, and 0 is no."""

    @abstractmethod
    def items(self, case: Case) -> list[JudgeQuestion] | Score:
        """Return what of a case is to be judged, or why the metric does not apply to it."""

    def score_all(self, cases: Sequence[Case], context: ScoringContext) -> list[Score]:
        """Score each case; the judge is asked only what `context.replies` does not have.

        A case of which one verdict is missing is *metric failed*, whatever the others are.

        Raises:
            SpecError: there is no judge.
            RunError: it fails on every prompt.
        """
        if self.judge is None:
            raise SpecError(*explain_missing_judge(self.name))
        items_by_case = [self._items_safely(case) for case in cases]
        prompt_texts = [
            item.prompt for items in items_by_case if not isinstance(items, Score) for item in items
        ]
        verdicts = ask_for_verdicts(self.judge, prompt_texts, self.top, context.replies)
        return [
            items
            if isinstance(items, Score)
            else self._combine_verdicts(
                [replace(verdicts[item.prompt], of=item.of) for item in items]
            )
            for items in items_by_case
        ]

    def _items_safely(self, case: Case) -> list[JudgeQuestion] | Score:
        try:
            return self.items(case)
        except Exception as error:  # noqa: BLE001  a user's own metric may raise anything
            return failure_of(self, error, case)

    def check(self) -> None:
        """Start the judge, which finds a missing library, name or key.

        Raises:
            HarnessError: there is none, or it cannot be started.
        """
        if self.judge is None:
            raise SpecError(*explain_missing_judge(self.name))
        self.judge.check()

    def identity(self) -> dict[str, Any]:
        """Return what shaped the values: the judge, and the prompt's version and hash."""
        text = prompts.load_prompt(f"judge_{self.name}")
        match = _VERSION.match(text)
        assert match is not None, f"judge_{self.name}.txt: its first line must be its version"
        judge = None if self.judge is None else self.judge.identity()
        prompt = {"version": int(match[1]), "hash": fingerprint(text)}
        return {"name": self.name, "version": self.version, "prompt": prompt, "judge": judge}

    def item(self, of: str, **texts: str) -> JudgeQuestion:
        """Return one thing to be judged; each of `texts` fills the place of its name."""
        return JudgeQuestion(of, fill_prompt(self.name, **texts))

    def _combine_verdicts(self, verdicts: Sequence[Verdict]) -> Score:
        values = [verdict.value for verdict in verdicts if verdict.value is not None]
        missing = [verdict for verdict in verdicts if verdict.value is None]
        if missing:
            share = "" if len(verdicts) == 1 else f"{len(missing)} of {len(verdicts)} verdicts: "
            return Score(None, share + missing[0].reason, "metric_failed", verdicts=tuple(verdicts))
        reason = verdicts[0].reason if len(verdicts) == 1 else self._describe_verdicts(values)
        mean = fsum(values) / (self.top * len(values))
        return Score(mean, reason, verdicts=tuple(verdicts))

    def _describe_verdicts(self, values: Sequence[int]) -> str:
        return f"verdicts {', '.join(map(str, values))} of {self.top}"


def explain_missing_judge(name: str) -> tuple[str, str]:
    """Return the message for a metric without a judge: the fact, and the remedy."""
    return f"metric {name!r} needs a judge", (
        "name one: `judge: {model: provider:name}`; context_overlap and abstention need neither a "
        "judge nor a reference"
    )


def answer_to_judge(case: Case) -> Score | str:
    """Return the answer of a case, or why there is none to be judged."""
    if case.answer is None:
        return not_scored("nothing was answered")
    if case.answer.declined:
        return not_scored("the system declined")
    if not case.answer.text.strip():
        return not_scored("the answer is empty")
    return case.answer.text


def fill_prompt(name: str, **texts: str) -> str:
    """Return the prompt of a metric, with each of `texts` in the place of its name.

    A line of a text that could pass for one of the prompt's own labels is marked as quoted.
    """
    return prompts.fill_template(
        _VERSION.sub("", prompts.load_prompt(f"judge_{name}"), count=1), **texts
    )


def ask_for_verdicts(
    judge: ChatModel,
    prompt_texts: Sequence[str],
    top: int,
    replies: JudgeReplies | None = None,
    sample: int = 0,
    breaker: CircuitBreaker | None = None,
) -> dict[str, Verdict]:
    """Return the verdict on each prompt; one that is there several times is asked once.

    `sample` is the first that the judge is asked for. `breaker` counts its failures; the default is
    that of `replies`, or a new one.

    Raises:
        RunError: it has failed on so many prompts that the others are not asked.
    """
    different = list(dict.fromkeys(prompt_texts))
    by_prompt = {} if replies is None else _parse_known(replies.get(different), top)
    waiting = deque(text for text in different if text not in by_prompt)
    breaker = breaker or (CircuitBreaker() if replies is None else replies.breaker)

    def calls() -> Iterator[tuple[str, Callable[[], list[ChatReply]]]]:
        while waiting and not breaker.tripped:
            prompt = waiting.popleft()
            yield prompt, partial(_ask_until_readable, judge, prompt, top, sample)

    def keep(done: concurrency.CallResult[str, list[ChatReply]]) -> None:
        answers = done.answer or []
        verdict = _parse_replies([reply.text for reply in answers], top)
        if done.failure is not None:
            verdict = replace(verdict, reason=done.failure)
        breaker.add(done.failure)
        by_prompt[done.key] = verdict
        # What could not be read is no judgement: whoever asks again gets another try.
        if replies is not None and verdict.value is not None:
            replies.put(done.key, answers)
        elif replies is not None:
            replies.count(answers)

    while waiting:  # one of those that were on their way may have been answered after all
        concurrency.call_all(calls(), judge.at_once, keep)
        breaker.check()
    return by_prompt


def parse_reply(reply: str, top: int) -> tuple[int, str] | None:
    """Return the verdict at the start of a reply, and the reason behind it; None if there is none.

    What a model thought aloud before, between `<think>` tags, is passed over.
    """
    text = _THOUGHT.sub("", reply)
    match = (_YES_NO if top == 1 else _GRADE).match(text)
    if match is None:
        return None
    value = int(match[1].lower() == "yes") if top == 1 else int(match[1])
    return value, " ".join(_BEFORE_REASON.sub("", text[match.end() :]).split())


def _parse_known(replies: Mapping[str, tuple[str, ...]], top: int) -> dict[str, Verdict]:
    verdicts = {prompt: _parse_replies(item, top) for prompt, item in replies.items()}
    return {prompt: item for prompt, item in verdicts.items() if item.value is not None}


def _ask_until_readable(judge: ChatModel, prompt: str, top: int, sample: int) -> list[ChatReply]:
    """Ask until a reply can be read, each time with another seed; at most `MAX_TRIES` times."""
    from tenacity import Retrying, retry_if_result, stop_after_attempt

    replies: list[ChatReply] = []

    def ask() -> tuple[int, str] | None:
        replies.append(judge.ask(prompt, sample + len(replies)))
        return parse_reply(replies[-1].text, top)

    Retrying(
        stop=stop_after_attempt(MAX_TRIES),
        retry=retry_if_result(lambda verdict: verdict is None),
        retry_error_callback=lambda state: None,
    )(ask)
    return replies


def _parse_replies(replies: Sequence[str], top: int) -> Verdict:
    """Return the verdict of the first readable reply to a prompt, or why there is none."""
    parsed = next(
        (result for reply in replies if (result := parse_reply(reply, top)) is not None), None
    )
    if parsed is not None:
        return Verdict("", *parsed, tuple(replies))
    last = replies[-1][:_MAX_SHOWN_CHARS] if replies else ""
    reason = f"no verdict in {len(replies)} replies, the last of them {last!r}"
    return Verdict("", None, reason, tuple(replies))
