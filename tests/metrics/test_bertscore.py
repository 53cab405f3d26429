"""BERTScore: rescaling by what unrelated texts score, and the faster runtime beneath it."""

import random
import subprocess
import sys

import pytest

from harness.errors import ModelError, SpecError
from harness.metrics import ScoringContext, metrics
from harness.metrics.named_metrics import build_metric, fit_metrics
from harness.metrics.token_match import TokenMatcher
from harness.models import runtime
from harness.models.model_files import DEFAULT_MODEL, hide_progress_bars, locate, weights_id
from harness.records import Answer, Case, Question
from harness.runs.scoring import score_all

pytestmark = pytest.mark.slow

WORDS = [
    "harbour",
    "bicycle",
    "invoice",
    "thunder",
    "orchard",
    "lantern",
    "violin",
    "glacier",
    "pepper",
    "engine",
]
QUESTIONS = [
    Question(f"q{at}", "?", answers=(f"The {word} costs {at} dollars.",))
    for at, word in enumerate(WORDS)
]
CASES = [
    Case(QUESTIONS[0], answer=Answer("A harbour costs nothing.")),
    Case(QUESTIONS[1], answer=Answer("It never rains on Sundays.")),
    Case(QUESTIONS[2], answer=Answer(QUESTIONS[2].answers[0])),
]


def values(spec):
    named = fit_metrics([build_metric(spec)], QUESTIONS, seed=7)
    return named[0].metric, [row[spec] for row in score_all(named, CASES)]


def test_rescaling_spreads_the_range_between_a_given_baseline_and_1():
    _, plain = values("bertscore_f1")
    _, rescaled = values("bertscore_f1(rescale=true, baseline=(0.1, 0.2, 0.3))")

    for raw, score in zip(plain, rescaled, strict=True):
        assert score.value == pytest.approx(max(0, (raw.value - 0.3) / 0.7), abs=1e-6)
        assert float(score.reason.removeprefix("raw value ") or 1) == pytest.approx(
            raw.value, abs=1e-5
        )


def test_without_one_the_baseline_is_what_pairs_of_the_references_score():
    metric, rescaled = values("bertscore_f1(rescale=true)")
    again, _ = values("bertscore_f1(rescale=true)")
    plain = build_metric("bertscore_f1").metric
    pairs = [
        Case(Question("p", "?", answers=other.answers), answer=Answer(one.answers[0]))
        for one in QUESTIONS
        for other in QUESTIONS
        if one is not other
    ]
    mean = sum(score.value for score in plain.score_all(pairs, ScoringContext())) / len(pairs)

    assert metric.baseline == again.baseline
    # 500 draws from 90 ordered pairs, against all of them
    assert metric.baseline[2] == pytest.approx(mean, abs=0.02)
    assert rescaled[2].value == pytest.approx(1, abs=1e-5)
    assert rescaled[1].value < rescaled[0].value < 1


def test_a_fitted_metric_reads_back_from_its_name():
    from harness.registry import label

    metric, _ = values("bertscore_f1(rescale=true)")

    assert metrics.build(label(metric)) == metric


def test_too_few_references_are_refused_with_what_to_do():
    with pytest.raises(ModelError, match=r"10 or more different references, not 3"):
        fit_metrics([build_metric("bertscore_f1(rescale=true)")], QUESTIONS[:3], seed=7)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("bertscore_f1(baseline=(0, 0, 0))", "baseline has a meaning only with rescale: true"),
        ("bertscore_f1(rescale=true, baseline=(0, 0, 1))", "each value must be from -1 to below 1"),
        (
            {"composite": {"weights": "1*bertscore_f1(rescale=true)"}},
            "'bertscore_f1(rescale=true)' must be given its baseline here",
        ),
    ],
)
def test_a_baseline_that_means_nothing_is_refused(spec, said):
    with pytest.raises(SpecError) as caught:
        metrics.build(spec)

    assert said in caught.value.what


def test_the_identity_has_the_hash_that_bert_score_prints_and_the_weights():
    identity = build_metric("bertscore_f1").metric.identity()

    assert identity["weights"] == weights_id(DEFAULT_MODEL)
    assert f"all-MiniLM-L6-v2@{weights_id(DEFAULT_MODEL)}_L6_no-idf_version=" in identity["hash"]
    assert identity["runtime"] == runtime.default_runtime()


TEXTS = [
    " ".join(WORDS[(start + step) % 10] for step in range(words))
    for words in (1, 2, 5, 13, 34, 130)
    for start in range(4)
]
PAIRS = [(TEXTS[at], (TEXTS[(7 * at + 3) % 24], TEXTS[(at + 11) % 24])) for at in range(24)]


@pytest.fixture(scope="module", params=["torch", "openvino"])
def fresh(request):
    """Makes matchers that know no text yet."""
    if request.param == "openvino" and runtime.default_runtime() != "openvino":
        pytest.skip("the extra [fast] is not installed")
    from bert_score.utils import get_model, get_tokenizer

    hide_progress_bars()
    folder = str(locate(DEFAULT_MODEL))
    plain = get_model(folder, 6)
    model = plain if request.param == "torch" else runtime.faster_encoder(plain)
    tokenizer = get_tokenizer(folder, True)
    return lambda: TokenMatcher(model, tokenizer)


def test_a_pair_has_the_same_bits_in_any_order_and_company(fresh):
    together = dict(zip(PAIRS, fresh().compare(PAIRS), strict=True))
    draw = random.Random(7)

    for size in (1, 1, 4, 23):
        some = draw.sample(PAIRS, size)
        assert fresh().compare(some) == [together[pair] for pair in some]


def test_nothing_is_imported_for_an_identity_or_an_empty_answer():
    code = (
        "import sys; from harness.runs.scoring import build_metric; from harness.records import *;"
        "metric = build_metric('bertscore_f1').metric; metric.identity();"
        "case = Case(Question('q', '?', answers=('far',)), answer=Answer(' '));"
        "value = metric.score_all([case], None)[0].value;"
        "print(value, sorted({'bert_score', 'torch'} & {*sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "0.0 []"


def test_openvino_gives_what_torch_gives_whatever_the_shape():
    if runtime.default_runtime() != "openvino":
        pytest.skip("the extra [fast] is not installed")
    import torch
    from bert_score.utils import get_model

    hide_progress_bars()
    plain = get_model(str(locate(DEFAULT_MODEL)), 6).eval()
    fast = runtime.faster_encoder(plain)
    generator = torch.Generator().manual_seed(7)
    for shape in ((1, 3), (2, 8), (5, 40), (3, 128)):
        ids = torch.randint(1000, 20_000, shape, generator=generator)
        mask = torch.ones_like(ids)
        mask[0, shape[1] // 2 :] = 0
        with torch.no_grad():
            wanted = plain(ids, attention_mask=mask)[0]
        found = fast(ids, attention_mask=mask)[0]

        assert torch.allclose(found[mask == 1], wanted[mask == 1], atol=1e-4)
