"""Corpus BLEU: BLEU of all answers together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, answer_case
from harness.metrics.needs import Need, WholeSetMetric
from harness.metrics.references import check_applicable, references
from harness.records import Case, Score
from harness.text.words import Tokens, tokenise

_MAX_NGRAM_WORDS = 4


@metrics.register
@dataclass(frozen=True)
class CorpusBleu(WholeSetMetric):
    """BLEU from the n-gram counts of all answers together; never a mean of sentence scores.

    An empty answer adds nothing but the length it lacks. 1: every answer is a reference word for
    word. 0: no four words in a row are shared. From 0 to 1. Source: Papineni et al., 2002, by
    sacrebleu (`tokenize=none`, `smooth_method=none`).
    """

    tokens: Tokens = "words"

    name: ClassVar[str] = "corpus_bleu"
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "references"})
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="BP × (p₁ × p₂ × p₃ × p₄)^(1/4), pₙ = share of all answers' n-grams that their "
        "references have, BP = min(1, e^(1 − tokens of the references / tokens of the answers))",
        example=Example(
            "“the cat sat on the mat today” against “the cat sat on the mat”, and “yes” against "
            "“no”: together 6 of 8 tokens, 5 of 6 pairs, 4 of 5 triples and 3 of 4 fours, and "
            "BP = 1, as the answers are the longer: (6/8 × 5/6 × 4/5 × 3/4)^(1/4) = 0.7825.",
            "corpus_bleu",
            [
                answer_case("the cat sat on the mat today", "the cat sat on the mat"),
                answer_case("yes", "no"),
            ],
            0.7825,
        ),
        use="to compare with published system scores",
        blind="which question was answered badly",
        order="order-aware within n-grams",
    )

    def score(self, case: Case) -> Score:
        """Return matching n-grams, n-grams (for n = 1 to 4), and both lengths of one answer."""
        not_applicable = check_applicable(case)
        if not_applicable is not None:
            return not_applicable
        assert case.answer is not None
        from sacrebleu.metrics.bleu import BLEU

        answer = " ".join(tokenise(case.answer.text, self.tokens))
        reference_texts = [[" ".join(tokenise(text, self.tokens))] for text in references(case)]
        bleu = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(
            [answer], reference_texts
        )
        counts = [*bleu.counts, *bleu.totals, bleu.sys_len, bleu.ref_len]
        return Score(None, "", counts=tuple(float(count) for count in counts))

    def totals(self, counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the BLEU of each row of summed counts, from 0 to 1; all are defined."""
        integers = np.rint(counts)
        correct, ngrams = (
            integers[:, :_MAX_NGRAM_WORDS],
            integers[:, _MAX_NGRAM_WORDS : 2 * _MAX_NGRAM_WORDS],
        )
        lengths, length = integers[:, -2], integers[:, -1]
        scores = np.zeros(len(integers))
        positive = (correct > 0).all(axis=1)  # else a precision is 0, and with it their product
        logs = np.log(correct[positive] / ngrams[positive]).mean(axis=1)
        brevity = np.minimum(0.0, 1 - length[positive] / lengths[positive])
        scores[positive] = np.minimum(np.exp(logs + brevity), 1.0)
        return scores, np.ones(len(integers), dtype=np.bool_)
