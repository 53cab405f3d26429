"""Corpus BLEU: BLEU of all answers together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from harness.facts import Example, Facts, answered
from harness.metrics import metrics
from harness.needs import Kind, Need
from harness.records import Case, Score
from harness.references import inapplicable, references
from harness.tokens import Tokens, tokenise

_ORDER = 4


@metrics.register
@dataclass(frozen=True)
class CorpusBleu:
    """BLEU from the n-gram counts of all answers together; never a mean of sentence scores.

    An empty answer adds nothing but the length it lacks. From 0 to 1. Source: Papineni et al.,
    2002, by sacrebleu (`tokenize=none`, `smooth_method=none`).
    """

    tokens: Tokens = "words"

    name: ClassVar[str] = "corpus_bleu"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "whole set"
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "references"})
    perfect: ClassVar[bool] = False
    facts: ClassVar[Facts] = Facts(
        formula="BP × (p₁ × p₂ × p₃ × p₄)^(1/4), pₙ = share of all answers' n-grams that their "
        "references have, BP = min(1, e^(1 − tokens of the references / tokens of the answers))",
        example=Example(
            "“the cat sat on the mat today” against “the cat sat on the mat”, and “yes” against "
            "“no”: together 6 of 8 tokens, 5 of 6 pairs, 4 of 5 triples and 3 of 4 fours, and "
            "BP = 1, as the answers are the longer: (6/8 × 5/6 × 4/5 × 3/4)^(1/4) = 0.7825.",
            "corpus_bleu",
            [
                answered("the cat sat on the mat today", "the cat sat on the mat"),
                answered("yes", "no"),
            ],
            0.7825,
        ),
        use="to compare with published system scores",
        blind="which question was answered badly",
        family="graded",
        order="order-aware within n-grams",
    )

    def score(self, case: Case) -> Score:
        """Return matching n-grams, n-grams (for n = 1 to 4), and both lengths of one answer."""
        refused = inapplicable(case)
        if refused is not None:
            return refused
        assert case.answer is not None
        from sacrebleu.metrics.bleu import BLEU

        said = " ".join(tokenise(case.answer.text, self.tokens))
        wanted = [[" ".join(tokenise(text, self.tokens))] for text in references(case)]
        found = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score([said], wanted)
        counts = [*found.counts, *found.totals, found.sys_len, found.ref_len]
        return Score(None, "", counts=tuple(float(count) for count in counts))

    def total(self, counts: Sequence[float]) -> float | None:
        """Return the BLEU of summed counts, from 0 to 1."""
        from sacrebleu.metrics.bleu import BLEU

        whole = [round(count) for count in counts]
        found = BLEU.compute_bleu(
            correct=whole[:_ORDER],
            total=whole[_ORDER : 2 * _ORDER],
            sys_len=whole[-2],
            ref_len=whole[-1],
            smooth_method="none",
        )
        return min(float(found.score) / 100, 1.0)

    def totals(self, counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return `total` of each row [rows, counts]; all are defined."""
        whole = np.rint(counts)
        correct, wanted = whole[:, :_ORDER], whole[:, _ORDER : 2 * _ORDER]
        said, length = whole[:, -2], whole[:, -1]
        found = np.zeros(len(whole))
        some = (correct > 0).all(axis=1)  # else a precision is 0, and with it their product
        logs = np.log(correct[some] / wanted[some]).mean(axis=1)
        brevity = np.minimum(0.0, 1 - length[some] / said[some])
        found[some] = np.minimum(np.exp(logs + brevity), 1.0)
        return found, np.ones(len(whole), dtype=np.bool_)
