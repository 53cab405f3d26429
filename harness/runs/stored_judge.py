"""The judge of a stored run: who it is, and what it said, so that it need not be asked again.

What an untrusted run may not choose is rejected.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from harness.errors import HarnessError, suggest
from harness.files.paths import make_portable
from harness.fingerprint import digest
from harness.metrics import Metric
from harness.metrics.judge import MeanVerdictMetric
from harness.metrics.judge_replies import CircuitBreaker, JudgeReplies
from harness.metrics.named_metrics import NamedMetric, leaf_metrics
from harness.models.chat import ChatModel
from harness.models.chat.settings import ChatReply
from harness.records import Case, Question, Score
from harness.runs.outcomes import make_cases
from harness.runs.scoring import ScoreCache
from harness.store.reader import StoredRun

ScoredCase = tuple[Mapping[str, Score], Case]
"""The scores of one answer of a run, and the case that they were given to."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def parse_judge(value: Any) -> ChatModel:
    """Return the chat model that a name, or a mapping of settings, describes.

    Raises:
        ValueError: it is neither, or a setting is not allowed.
    """
    spec = {"model": value} if isinstance(value, str) else value
    if not isinstance(spec, Mapping):
        raise ValueError("expected a model's name or its settings, found another kind of value")
    names = [field.name for field in fields(ChatModel)]
    for key in map(str, spec):
        if key not in names:
            raise ValueError(f"a chat model has no {key!r}; {suggest(key, names)}")
    try:
        return TypeAdapter(ChatModel).validate_python(spec)
    except ValidationError as error:
        problem = error.errors()[0]
        message = problem["msg"].removeprefix("Value error, ")
        raise ValueError(": ".join([*map(str, problem["loc"]), message])) from None


def read_judge(stored: StoredRun) -> ChatModel | None:
    """Return the judge of the run's configuration.

    Raises:
        HarnessError: it is neither at its provider's own server nor at one on this machine.
    """
    spec = stored.run.config["resolved"].get("judge")
    if spec is None:
        return None
    judge = parse_judge(spec)
    where = urlsplit(judge.base_url or "http://localhost").hostname or ""
    if judge.file is not None:
        raise HarnessError(
            f"{stored.folder}: its judge is a file, {judge.shown!r}, and a stored run cannot "
            "choose what is read\n  name it again: --judge gguf:PATH"
        )
    if where not in _LOOPBACK:
        raise HarnessError(
            f"{stored.folder}: its judge is at {where}, and a stored run cannot choose whom keys "
            "are sent to\n  name it again: --judge '{model: provider:name, base_url: https://...}'"
        )
    return replace(judge, seed=stored.run.provenance.seed) if judge.seed is None else judge


def check_metric(metric: Metric, folder: Path) -> None:
    """Raise `HarnessError` for a metric of a stored run whose model is a folder."""
    for leaf in leaf_metrics(metric):
        model = getattr(leaf, "model", None)
        if isinstance(model, str) and os.path.isdir(model):
            raise HarnessError(
                f"{folder}: the model of {leaf.name} is a folder, {model!r}, and a stored run "
                "cannot choose what is read\n  name the metrics: -m METRIC"
            )


def stored_answers(stored: StoredRun, questions: Mapping[str, Question]) -> Iterator[ScoredCase]:
    """Yield the scores of each answer in a run's records, and its case."""
    for record in stored.records:
        answers = make_cases(record, questions[record.question], stored.texts)
        yield from zip((part.scores for part in record.samples or (record,)), answers, strict=True)


def stored_replies(
    stored: StoredRun, named: Sequence[NamedMetric], judged: Iterable[ScoredCase]
) -> dict[bytes, tuple[str, ...]]:
    """Return the replies to each prompt, by its key, that gave one of a run's verdicts, in order.

    Those of a metric whose judge or prompt is not that of the run are left out.
    """
    judge_metrics = {
        entry.name: entry.metric
        for entry in named
        if isinstance(entry.metric, MeanVerdictMetric) and _is_same_judge(stored, entry.metric)
    }
    replies: dict[bytes, tuple[str, ...]] = {}
    for scores, case in judged if judge_metrics else ():
        for name, metric in judge_metrics.items():
            score = scores.get(name)
            items = metric.items(case) if score is not None and score.verdicts else []
            if score is None or isinstance(items, Score):
                continue
            if [item.of for item in items] == [verdict.of for verdict in score.verdicts]:
                replies |= {
                    digest(item.prompt): tuple(verdict.replies)
                    for item, verdict in zip(items, score.verdicts, strict=True)
                    if verdict.value is not None
                }
    return replies


def _is_same_judge(stored: StoredRun, metric: MeanVerdictMetric) -> bool:
    about = make_portable({"used_by": metric.name, **metric.identity()})
    return about in stored.run.provenance.models


class ReplayingScores:
    """Gives out what a run's judge said, by the key of its prompt, and for the rest asks `keeper`.

    Without one, what a judge says now is kept here: the next questions may have the same prompt.
    """

    def __init__(
        self, run_replies: Mapping[bytes, tuple[str, ...]], keeper: ScoreCache | None
    ) -> None:
        self._run_replies = run_replies
        self._keeper = keeper
        self._by_judge: dict[ChatModel, _ReplayedReplies] = {}

    def get_or_score(
        self,
        metric: Metric,
        cases: Sequence[Case],
        keys: Sequence[str],
        score: Callable[[Sequence[Case]], Sequence[Score]],
    ) -> list[Score]:
        """Return the score of each case; `score` makes those that are not there."""
        if self._keeper is None:
            return list(score(cases))
        return self._keeper.get_or_score(metric, cases, keys, score)

    def replies(self, judge: ChatModel) -> JudgeReplies:
        """Return the replies that a judge gave before, which also keeps those it gives now."""
        if judge not in self._by_judge:
            kept = None if self._keeper is None else self._keeper.replies(judge)
            self._by_judge[judge] = _ReplayedReplies(dict(self._run_replies), kept)
        return self._by_judge[judge]


class _ReplayedReplies:
    """Replies by prompt: those of the run, those of this process, then those that are `kept`."""

    def __init__(self, known: dict[bytes, tuple[str, ...]], kept: JudgeReplies | None) -> None:
        self.breaker = CircuitBreaker() if kept is None else kept.breaker
        self._known = known
        self._kept = kept

    def get(self, prompts: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        keys = {prompt: digest(prompt) for prompt in prompts}
        known = {prompt: self._known[key] for prompt, key in keys.items() if key in self._known}
        if self._kept is None:
            return known
        return {**self._kept.get([prompt for prompt in prompts if prompt not in known]), **known}

    def put(self, prompt: str, replies: Sequence[ChatReply]) -> None:
        self._known[digest(prompt)] = tuple(reply.text for reply in replies)
        if self._kept is not None:
            self._kept.put(prompt, replies)

    def count(self, replies: Sequence[ChatReply]) -> None:
        if self._kept is not None:
            self._kept.count(replies)
