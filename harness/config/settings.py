"""The keys of a configuration file: their names, types, bounds and defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Len
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    WrapSerializer,
)

from harness.config.gate_rules import Gate
from harness.errors import SpecError
from harness.files.paths import PathText
from harness.index import IndexSettings
from harness.metrics import metrics
from harness.metrics.named_metrics import MetricName, Renamed
from harness.models.chat import ChatModel
from harness.ranking.relevance import fold, occurs
from harness.records import Case, Label
from harness.testset.label_file import DRAWN
from harness.text.decline_patterns import DECLINES, check_patterns
from harness.text.stopwords import Language

_READS = {"answer", "references"}


@dataclass(frozen=True)
class AnswerTest:
    """What an answer must be to count as one, beside being no decline.

    Where its question has keywords, and `keywords` is true, all of them must be in it; else
    `metric` must give it at least `min`.
    """

    keywords: bool = True
    metric: str = "token_f1"
    min: Annotated[float, Gt(0), Le(1)] = 0.5

    def __post_init__(self) -> None:
        if self.metric != AnswerTest.metric:  # the default is known to fit, and need not be loaded
            self._check()

    def _check(self) -> None:
        try:
            metric = metrics.build(self.metric)
        except SpecError as error:
            raise ValueError(f"metric: {error.what}") from None
        single = metric.kind == "quality" and hasattr(metric, "score")
        if metric.needs != _READS or not single:
            raise ValueError(
                f"metric: {self.metric!r} does not score one answer by itself against references: "
                "token_f1, exact_match and rougeL do"
            )

    @cached_property
    def _metric(self) -> Any:
        return metrics.build(self.metric)

    def passed(self, case: Case) -> bool | None:
        """Return whether a case is answered; None where its question says nothing of the answer."""
        answer = case.answer
        if answer is None or answer.declined:
            return False
        if self.keywords and case.question.keywords:
            text = fold(answer.text)
            return all(occurs(keyword, text) for keyword in case.question.keywords)
        value: float | None = self._metric.score(case).value
        return None if value is None else value >= self.min


_HOST_AND_PORT = re.compile(r"(?:[^\s:/@\[\]]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})")


@dataclass(frozen=True)
class OnRay:
    """A Ray cluster, and the store that its machines and this one share.

    `address` is `local`, which starts a Ray of this run's own, `auto`, the one that RAY_ADDRESS or
    this machine names, or HOST:PORT. `store` is a folder that every machine has under this path, or
    s3://, gs://; none: `shared` in the cache. Each machine keeps its own cache in `scratch`; none:
    below its temporary folder. `encoders` are the tasks that embed at once; none: one a GPU, or
    where there is no GPU one a machine.
    """

    address: str
    store: str | None = None
    scratch: str | None = None
    encoders: Annotated[int, Gt(0)] | None = None

    def __post_init__(self) -> None:
        match = _HOST_AND_PORT.fullmatch(self.address)
        if self.address not in ("local", "auto") and not (match and 0 < int(match[1]) < 1 << 16):
            raise ValueError(
                f"address: {self.address!r} is none: write local, auto or HOST:PORT, "
                "for example 10.0.0.5:6379"
            )
        host = (self.store or "").partition("://")[2].split("/")[0]
        if ":" in host.rpartition("@")[0]:
            raise ValueError("store: no file holds a secret: give its keys in the environment")


@dataclass(frozen=True)
class Execution:
    """What does the work."""

    ray: OnRay


DEFAULT_METRICS = (
    "hit_rate@5",
    "precision@5",
    "recall@5",
    "mrr@10",
    "ndcg@10",
    "bleu",
    "rougeL",
    "token_f1",
    "abstention",
)
SYSTEM_METRICS = ("hit_rate@5", "precision@5", "mrr@10", "bleu", "rougeL", "token_f1", "abstention")
"""The default metrics of systems: those that need not know an index."""


def as_list(value: Any) -> Any:
    """Return a list where one component stands in its place; anything else as it is."""
    return [value] if isinstance(value, str | Mapping) else value


_Spec = str | dict[str, Any]
_Specs = Annotated[
    list[_Spec],
    Field(min_length=1),
    BeforeValidator(
        as_list, json_schema_input_type=_Spec | Annotated[list[_Spec], Field(min_length=1)]
    ),
]
_Chat = Annotated[
    ChatModel | None,
    BeforeValidator(
        lambda value: {"model": value} if isinstance(value, str) else value,
        json_schema_input_type=str | ChatModel | None,
    ),
]
_Execution = Annotated[
    Execution | None,
    BeforeValidator(
        lambda value: None if value == "local" else value,
        json_schema_input_type=Literal["local"] | Execution | None,
    ),
    WrapSerializer(lambda value, plain: "local" if value is None else plain(value)),
]
_Int = Annotated[int, Strict()]


def check_sample_seed(value: Any) -> Any:
    """Return the seed of a sample as it is; raise `ValueError` unless it is one."""
    if value == "date" or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ValueError(f"must be `date` or a whole number from 0, not {str(value)!r}")


_Float = Annotated[float, Strict()]


class ContextLimits(BaseModel):
    """What of the ranking reaches the generator: whichever bound is met first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    chunks: Annotated[_Int, Gt(0)] = 5
    tokens: Annotated[_Int, Gt(0)] = 1500


class PeopleLabels(BaseModel):
    """Labels of people that correct the means of metrics that ask a judge."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    labels: str
    drawn: Annotated[str, Field(pattern=DRAWN)] | None = None


class Settings(BaseModel):
    """The keys of a configuration file. `corpus` and `testset` are the only ones required."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    corpus: str | dict[str, Any] = Field(description="a path, or {format: path}")
    testset: str | dict[str, Any] = Field(description="a path, or {format: path}")
    seed: Annotated[_Int, Ge(0)] = 7
    language: Language = Field("english", description="whose stop words searches leave out")
    labels: Label | None = Field(None, description="what unqualified metrics judge by")
    system: _Specs | None = Field(
        None, description="a system of your own, in the place of the grid; a list is an axis"
    )
    chunkers: _Specs = ["recursive"]
    embedders: _Specs = ["sentence_transformer"]
    retrievers: _Specs = ["dense"]
    rerankers: _Specs = ["none"]
    generators: _Specs = ["extractive"]
    chat: _Chat = Field(None, description="the chat model that components ask: a name, or settings")
    judge: _Chat = Field(None, description="the chat model that judges answers")
    decline_patterns: Annotated[tuple[str, ...], Len(1), AfterValidator(check_patterns)] = Field(
        DECLINES, description="regular expressions: an answer that matches one is a decline"
    )
    retrieve: Annotated[_Int, Gt(0)] = Field(20, description="how many the retriever is asked for")
    context: ContextLimits = ContextLimits()
    metrics: Annotated[_Specs, Renamed] = list(DEFAULT_METRICS)
    answer_test: AnswerTest = Field(
        AnswerTest(), description="when an answer counts as one, for where it was lost"
    )
    decide_by: MetricName | None = Field(None, description="the metric cells are ranked by")
    sample: Annotated[_Int, Gt(0)] | None = Field(
        None, description="how many of the questions are asked, by chance; default: all"
    )
    sample_seed: Annotated[Literal["date"] | int, BeforeValidator(check_sample_seed)] = Field(
        "date", description="`date`: others each UTC day, until all were; a number: always the same"
    )
    margin: Annotated[_Float, Ge(0), Le(1)] = Field(0.02, description="kept for comparisons")
    cost: list[Literal["money", "tokens", "seconds"]] = Field(
        ["money", "tokens", "seconds"], description="kept for comparisons"
    )
    clusters: bool = Field(False, description="draw questions that share evidence together")
    relevance_level: Annotated[_Int, Ge(1)] = 1
    min_overlap: Annotated[_Float, Gt(0), Le(1)] = 0.5
    baseline: Annotated[
        dict[str, str | dict[str, Any]],
        BeforeValidator(
            lambda value: {"cell": value} if isinstance(value, str) else value,
            json_schema_input_type=str | dict[str, str | dict[str, Any]],
        ),
    ] = Field({}, description="a cell's name or label, or {axis: component}")
    targets: Annotated[dict[str, Annotated[_Float, Ge(0), Le(1)]], Renamed] = {}
    reuse: bool = Field(
        True, description="use earlier replies of hosted models; a run with a `gate` never does"
    )
    gate: Gate | None = Field(None, description="rules a run must pass: {fail_if, min, max}")
    index: IndexSettings = IndexSettings()
    oracle: bool = Field(
        False, description="also answer each question from its gold passages, and from nothing"
    )
    prices: str | None = Field(None, description="a file with what models cost, for money")
    max_cost: Annotated[_Float, Gt(0)] | None = Field(
        None, description="refuse a run that is expected to cost more"
    )
    token_budget: Annotated[_Int, Gt(0)] | None = Field(
        None, description="end a run whose chat models take more tokens in all, sent and got"
    )
    traffic: str | None = Field(
        None, description="a file of questions people really ask, to hold the test set against"
    )
    people: PeopleLabels | None = Field(
        None,
        description="people's labels that correct what judges say: {labels: FILE, drawn: random}",
    )
    max_failures: Annotated[_Float, Ge(0)] = Field(0.05, description="a share, or a count from 1")
    execution: _Execution = Field(
        None, description="`local`, in this process, or {ray: {address: local, auto or HOST:PORT}}"
    )
    output: PathText = "reports"
    cache: PathText = ".harness"

    @property
    def reuses(self) -> bool:
        """Whether replies that hosted models gave to earlier runs are used."""
        return self.reuse and self.gate is None

    def allowed_failures(self, questions: int) -> float:
        """Return how many of so many questions may fail."""
        return self.max_failures if self.max_failures >= 1 else self.max_failures * questions
