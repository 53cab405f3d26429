"""BERTScore: do answer and reference mean the same, word by word?"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Annotated, Any, ClassVar, Self

from annotated_types import Gt

from harness.errors import ModelError
from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, answer_case
from harness.metrics.references import AnswerPair, BatchReferenceMetric, note_unread
from harness.metrics.token_match import PrecisionRecallF1, load_matcher
from harness.models import runtime
from harness.models.model_files import DEFAULT_MODEL, weights_id
from harness.models.runtime import processor
from harness.records import Question, Score

_BASELINE_PAIRS = 500
_MIN_BASELINE_TEXTS = 10
_EXAMPLE_CASE = answer_case(
    "A day pass costs 6 dollars and can be bought at every station.", "A day pass costs 6 dollars."
)


@dataclass(frozen=True)
class _BertScore(BatchReferenceMetric):
    """Greedy matching of the tokens of answer and reference by the cosine of their embeddings.

    With several references, precision, recall and F are each the best over them, as bert-score
    has it. An empty answer gets 0 and the model is not asked. `rescale: true` spreads the values:
    (value - baseline) / (1 - baseline), cut to [0, 1], where `baseline` holds what unrelated texts
    score (precision, recall, F) and is measured on pairs of the run's references if not given.
    Source: Zhang et al., "BERTScore: Evaluating Text Generation with BERT", 2020.
    """

    model: str = DEFAULT_MODEL
    layer: Annotated[int, Gt(0)] = 6
    rescale: bool = False
    baseline: tuple[float, float, float] | None = None

    version: ClassVar[int] = 2
    part: ClassVar[int]

    def __post_init__(self) -> None:
        if self.baseline is not None:
            if not self.rescale:
                raise ValueError("baseline has a meaning only with rescale: true")
            if not all(-1 <= value < 1 for value in self.baseline):
                raise ValueError("baseline: each value must be from -1 to below 1")

    def fitted(self, questions: Sequence[Question], seed: int) -> Self:
        """Return the metric with its baseline measured, where it needs one and has none.

        Raises:
            ModelError: the questions have too few references for pairs of unrelated ones.
        """
        if not self.rescale or self.baseline is not None:
            return self
        pairs = _draw_unrelated_pairs(questions, seed)
        triples = load_matcher(self.model, self.layer).compare(pairs)
        means = [sum(column) / len(triples) for column in zip(*triples, strict=True)]
        return replace(self, baseline=(means[0], means[1], means[2]))

    def compare_all(self, pairs: Sequence[AnswerPair]) -> list[Score]:
        """Score each answer, asking the model once for all of them."""
        if not pairs:
            return []
        matcher = load_matcher(self.model, self.layer)
        return [
            note_unread(self._score(triple), matcher.truncated((answer, *references)))
            for triple, (answer, references) in zip(matcher.compare(pairs), pairs, strict=True)
        ]

    def identity(self) -> dict[str, Any]:
        """Return what shaped the values: model, weights, layer, rescaling, and versions.

        `hash` is in the form that bert-score prints, with the weights in the place of a path.
        """
        weights, card = weights_id(self.model), processor.device_identity()
        versions = f"{version('bert-score')}(hug_trans={version('transformers')})"
        rescaled = "-custom-rescaled" if self.rescale else ""
        return {
            "model": self.model,
            "weights": weights,
            "layer": self.layer,
            "idf": False,
            "rescaled": self.rescale,
            "baseline": None if self.baseline is None else list(self.baseline),
            **({"runtime": "torch", **card} if card else {"runtime": runtime.default_runtime()}),
            "hash": f"{self.model}@{weights}_L{self.layer}_no-idf_version={versions}{rescaled}"
            "_fast-tokenizer",
        }

    def _score(self, triple: PrecisionRecallF1) -> Score:
        raw = value = triple[self.part]
        if self.rescale:
            assert self.baseline is not None, "a run fits its metrics before it scores"
            low = self.baseline[self.part]
            value = (raw - low) / (1 - low)
        clipped = min(max(value, 0.0), 1.0)
        raw_text = f"{raw:.6f}"
        return Score(clipped, "" if raw_text == f"{clipped:.6f}" else f"raw value {raw_text}")


@metrics.register
@dataclass(frozen=True)
class BertScorePrecision(_BertScore):
    """How well each token of the answer is matched by one of the best reference.

    1: each token has its like in the reference. Unrelated texts score well above 0. From 0 to 1.
    Source: Zhang et al., 2020, by bert-score.
    """

    name: ClassVar[str] = "bertscore_precision"
    part: ClassVar[int] = 0
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="mean over the answer's tokens of the highest cosine with a token of the reference",
        example=Example(
            "“A day pass costs 6 dollars and can be bought at every station.” against “A day pass "
            "costs 6 dollars.”: about 0.75 by the default model, as half of the answer has no "
            "counterpart.",
            "bertscore_precision",
            [_EXAMPLE_CASE],
            0.75,
            within=0.01,
        ),
        use="to see needless content",
        blind="contradiction: opposites embed alike",
        order="not order-aware but for the context of a token",
    )


@metrics.register
@dataclass(frozen=True)
class BertScoreRecall(_BertScore):
    """How well each token of the best reference is matched by one of the answer.

    1: each token has its like in the answer. Unrelated texts score well above 0. From 0 to 1.
    Source: Zhang et al., 2020, by bert-score.
    """

    name: ClassVar[str] = "bertscore_recall"
    part: ClassVar[int] = 1
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="mean over the reference's tokens of the highest cosine with a token of the answer",
        example=Example(
            "“A day pass costs 6 dollars and can be bought at every station.” against “A day pass "
            "costs 6 dollars.”: about 0.95 by the default model, as nothing of the reference is "
            "missing.",
            "bertscore_recall",
            [_EXAMPLE_CASE],
            0.95,
            within=0.01,
        ),
        use="to see missing content",
        blind="contradiction: opposites embed alike",
        order="not order-aware but for the context of a token",
    )


@metrics.register
@dataclass(frozen=True)
class BertScoreF1(_BertScore):
    """Harmonic mean of BERTScore's precision and recall.

    1: the same text. Unrelated texts score well above 0: compare values, or rescale. From 0 to 1.
    Source: Zhang et al., 2020, by bert-score.
    """

    name: ClassVar[str] = "bertscore_f1"
    part: ClassVar[int] = 2
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="2 × P × R / (P + R), P and R = BERTScore's precision and recall",
        example=Example(
            "“A day pass costs 6 dollars and can be bought at every station.” against “A day pass "
            "costs 6 dollars.”: about 0.84 by the default model, between a precision of 0.75 and a "
            "recall of 0.95.",
            "bertscore_f1",
            [_EXAMPLE_CASE],
            0.84,
            within=0.01,
        ),
        use="for critical evaluation of wording that may differ",
        blind="contradiction; and not rescaled, texts on one subject rarely fall under 0.3",
        order="not order-aware but for the context of a token",
    )


def _draw_unrelated_pairs(questions: Sequence[Question], seed: int) -> list[AnswerPair]:
    """Return pairs of references of two questions each, drawn at random."""
    texts = sorted({question.answers[0] for question in questions if question.answers})
    if len(texts) < _MIN_BASELINE_TEXTS:
        raise ModelError(
            f"BERTScore can only be rescaled by {_MIN_BASELINE_TEXTS} or more different "
            f"references, not {len(texts)}\n  give it a baseline, or leave `rescale` out"
        )
    order = random.Random(seed)
    pairs = [order.sample(texts, 2) for _ in range(_BASELINE_PAIRS)]
    return [(one, (other,)) for one, other in pairs]
