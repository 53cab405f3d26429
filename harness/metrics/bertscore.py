"""BERTScore: do answer and reference mean the same, word by word?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from annotated_types import Gt

from harness.errors import MissingExtra, ModelError
from harness.fingerprint import fingerprint
from harness.metrics import metrics
from harness.models import DEFAULT_MODEL, hush, locate, weights_id
from harness.needs import Kind, Need
from harness.records import Case, Score
from harness.references import EMPTY, inapplicable, references

_Triple = tuple[float, float, float]
_BATCH = 64


@dataclass(frozen=True)
class _BertScore:
    """Greedy matching of the tokens of answer and reference by the cosine of their embeddings.

    With several references, precision, recall and F are each the best over them, as bert-score
    has it. An empty answer gets 0 and the model is not asked. Source: Zhang et al., "BERTScore:
    Evaluating Text Generation with BERT", 2020.
    """

    model: str = DEFAULT_MODEL
    layer: Annotated[int, Gt(0)] = 6

    name: ClassVar[str]
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "quality"
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "references"})
    perfect: ClassVar[bool] = True
    part: ClassVar[int]

    def score_all(self, cases: Sequence[Case]) -> list[Score]:
        """Score each case, asking the model once for all of them."""
        scores = [inapplicable(case) or _empty(case) for case in cases]
        asked = [case for case, score in zip(cases, scores, strict=True) if score is None]
        pairs = [(c.answer.text, tuple(references(c))) for c in asked if c.answer is not None]
        values = iter(_compared(self.model, self.layer, pairs))
        return [score if score is not None else self._score(next(values)) for score in scores]

    def identity(self) -> dict[str, Any]:
        """Return what shaped the values: model, weights, layer; no idf, no rescaling."""
        return {
            "model": self.model,
            "weights": weights_id(self.model),
            "layer": self.layer,
            "idf": False,
            "rescaled": False,
        }

    def _score(self, triple: _Triple) -> Score:
        raw = triple[self.part]
        value = min(max(raw, 0.0), 1.0)
        return Score(value, "" if value == raw else f"raw value {raw:.6f}")


@metrics.register
@dataclass(frozen=True)
class BertScorePrecision(_BertScore):
    """How well each token of the answer is matched by one of the best reference.

    Use it to see needless content. It cannot see contradiction: opposites embed alike. Source:
    Zhang et al., 2020, by bert-score.
    """

    name: ClassVar[str] = "bertscore_precision"
    part: ClassVar[int] = 0


@metrics.register
@dataclass(frozen=True)
class BertScoreRecall(_BertScore):
    """How well each token of the best reference is matched by one of the answer.

    Use it to see missing content. It cannot see contradiction: opposites embed alike. Source:
    Zhang et al., 2020, by bert-score.
    """

    name: ClassVar[str] = "bertscore_recall"
    part: ClassVar[int] = 1


@metrics.register
@dataclass(frozen=True)
class BertScoreF1(_BertScore):
    """Harmonic mean of BERTScore's precision and recall.

    Use it for critical evaluation of wording that may differ. It cannot see contradiction, and
    not rescaled it rarely falls under 0.3. Source: Zhang et al., 2020, by bert-score.
    """

    name: ClassVar[str] = "bertscore_f1"
    part: ClassVar[int] = 2


def _empty(case: Case) -> Score | None:
    assert case.answer is not None
    return None if case.answer.text.strip() else EMPTY


@lru_cache(maxsize=2)
def _scorer(model: str, layer: int) -> Any:
    try:
        from bert_score import BERTScorer
    except ModuleNotFoundError as error:
        raise MissingExtra("metric 'bertscore'", str(error.name), "offline") from None
    hush()
    try:
        return BERTScorer(model_type=str(locate(model)), num_layers=layer, device="cpu")
    except (OSError, ValueError, AssertionError) as error:
        raise ModelError(f"model {model!r} cannot be used for BERTScore: {error}") from None


_known: dict[str, _Triple] = {}
"""Values of this process, by model, layer and texts: the three metrics share them, and so do
cells that gave the same answer."""


def _compared(
    model: str, layer: int, pairs: Sequence[tuple[str, tuple[str, ...]]]
) -> list[_Triple]:
    keys = [fingerprint(weights_id(model), layer, answer, list(refs)) for answer, refs in pairs]
    new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in _known}
    if new:
        answers = [answer for answer, _ in new.values()]
        wanted = [list(refs) for _, refs in new.values()]
        found = _scorer(model, layer).score(answers, wanted, batch_size=_BATCH)
        for key, *triple in zip(new, *(values.tolist() for values in found), strict=True):
            _known[key] = (triple[0], triple[1], triple[2])
    return [_known[key] for key in keys]
