"""Time to score, as a multiple of what calling the libraries directly takes, beside its bound.

python benchmarks/table.py scoring
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytrec_eval
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from rouge_score.rouge_scorer import RougeScorer

from benchmarks.figures import RUNS, Figure, in_turn, ratio, seconds, settle
from harness.metrics import named_metrics
from harness.models.model_files import DEFAULT_MODEL, hide_progress_bars, locate
from harness.records import Answer, Case, Question
from harness.runs import scoring
from harness.runs.evaluate_rankings import evaluate_run
from harness.text.words import normalise_answer, tokenise

SEED = 7
QUESTIONS, DEPTH, JUDGED, COLLECTION = 10_000, 100, 12, 5_000
PAIRS = 1_000
LAYER = 6
TREC = {"ndcg@10": "ndcg_cut_10", "ap": "map", "mrr": "recip_rank", "recall@100": "recall_100"}
ANSWERS = ("bleu", "rougeL", "token_f1")
BERTSCORE = ("bertscore_precision", "bertscore_recall", "bertscore_f1")

Table = dict[str, dict[str, float]]
Values = list[tuple[float, ...]]
Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Row:
    """One comparison: the same values by the harness and by the libraries themselves."""

    what: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    bound: float
    near: float
    read: Callable[[Any], Values] = list
    """Brings what the two sides return into one form, outside of what is timed."""


def scored() -> list[Figure]:
    """Return the ratio of each comparison."""
    warnings.simplefilter("ignore")
    hide_progress_bars()
    return [timed(row) for row in (ranking(), ranking(by_rank=True), answers(), bertscore())]


def timed(row: Row) -> Figure:
    """Return the ratio of the two sides, run in turn in this process."""
    # This checks the values, and takes what is loaded or built once out of the times.
    np.testing.assert_allclose(row.read(row.ours()), row.read(row.theirs()), rtol=0, atol=row.near)
    settle()
    pairs = in_turn(partial(seconds, row.ours), partial(seconds, row.theirs))
    return ratio(row.what, pairs, row.bound)


def ranking(by_rank: bool = False) -> Row:
    """Rankings with values a question: evaluate_run against pytrec_eval."""
    generator = np.random.default_rng(SEED)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for number in range(QUESTIONS):
        found = generator.choice(COLLECTION, DEPTH, replace=False)
        # pytrec_eval compares in single precision: scores that it can hold.
        scores = generator.uniform(0, 30, DEPTH).astype(np.float32).tolist()
        if by_rank:
            scores.sort(reverse=True)
        judged = [*found[:: 2 * DEPTH // JUDGED], *generator.integers(COLLECTION, size=JUDGED // 2)]
        run[f"q{number}"] = {f"d{id_}": score for id_, score in zip(found, scores, strict=True)}
        qrels[f"q{number}"] = {f"d{id_}": int(generator.integers(0, 4)) for id_ in judged}

    def ours() -> Table:
        return evaluate_run(qrels, run, list(TREC)).values()

    def theirs() -> Table:
        return pytrec_eval.RelevanceEvaluator(qrels, set(TREC.values())).evaluate(run)

    def read(found: Table) -> Values:
        rows = [found[id_] for id_ in qrels]
        return [tuple([row.get(a, row.get(b)) for a, b in TREC.items()]) for row in rows]

    what = f"{QUESTIONS:,} questions × {DEPTH} documents, {'by rank' if by_rank else 'any order'}"
    return Row(what, ours, theirs, bound=1.0, near=1e-9, read=read)


def answers() -> Row:
    """BLEU, ROUGE-L and token F1: score_all against nltk, rouge-score and a plain F1."""
    pairs = texts(PAIRS)
    cases = as_cases(pairs)
    named = [named_metrics.build_metric(name) for name in ANSWERS]
    rouge = RougeScorer(["rougeL"])
    smooth = SmoothingFunction().method1

    def ours() -> Values:
        return [tuple([row[n].value for n in ANSWERS]) for row in scoring.score_all(named, cases)]

    def theirs() -> Values:
        return [
            (
                sentence_bleu([tokenise(wanted)], tokenise(said), smoothing_function=smooth),
                rouge.score(wanted, said)["rougeL"].fmeasure,
                token_f1(normalise_answer(said), normalise_answer(wanted)),
            )
            for said, wanted in pairs
        ]

    what = f"{PAIRS:,} answers, {', '.join(ANSWERS)}"
    return Row(what, ours, theirs, bound=1.1, near=1e-9)


def bertscore() -> Row:
    """BERTScore of pairs never seen before: score_all against bert_score.score."""
    import bert_score

    # The harness keeps values by text, so each of its runs is given texts of its own.
    sets = cycle([texts(PAIRS, round_) for round_ in range(RUNS + 1)])
    named = [named_metrics.build_metric(name) for name in BERTSCORE]
    model = str(locate(DEFAULT_MODEL))
    given: list[Pairs] = []

    def ours() -> Values:
        given[:] = [next(sets)]
        rows = scoring.score_all(named, as_cases(given[0]))
        return [tuple([row[name].value for name in BERTSCORE]) for row in rows]

    def theirs() -> Values:
        said, wanted = zip(*given[0], strict=True)
        found = bert_score.score(
            list(said), list(wanted), model_type=model, num_layers=LAYER, device="cpu"
        )
        return [tuple(row) for row in np.stack([each.numpy() for each in found], axis=1).tolist()]

    what = f"{PAIRS:,} pairs, BERTScore"
    return Row(what, ours, theirs, bound=0.7, near=1e-3)


def token_f1(said: list[str], wanted: list[str]) -> float:
    return 2 * (Counter(said) & Counter(wanted)).total() / (len(said) + len(wanted))


def texts(count: int, round_: int = 0) -> Pairs:
    """Return answers and references: the corpus's sentences, the answer with words changed."""
    generator = np.random.default_rng([SEED, round_])
    folder = Path(__file__).parent.parent / "corpora" / "insurellm"
    lines = [line for path in sorted(folder.rglob("*.md")) for line in path.read_text().split("\n")]
    # rouge-score drops letters beyond a to z; the harness keeps them, and would differ.
    sentences = [line.split() for line in lines if line.isascii() and 8 <= line.count(" ") < 40]
    words = sorted({word for sentence in sentences for word in sentence})
    order = generator.permutation(len(sentences)).tolist()
    pairs = []
    for at in islice(cycle(order), count):
        wanted = [*sentences[at]]
        changed = generator.uniform(size=len(wanted)) < 0.3
        said = [
            str(generator.choice(words)) if change else word
            for word, change in zip(wanted, changed, strict=True)
        ]
        pairs.append((" ".join(said), " ".join(wanted)))
    return pairs


def as_cases(pairs: Pairs) -> list[Case]:
    return [
        Case(Question(str(at), "", answers=(wanted,)), answer=Answer(said))
        for at, (said, wanted) in enumerate(pairs)
    ]
