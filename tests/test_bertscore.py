"""BERTScore: rescaling by what unrelated texts score, and the faster runtime beneath it."""

import subprocess
import sys

import pytest

from harness import runtime
from harness.errors import ModelError, SpecError
from harness.metrics import metrics
from harness.records import Answer, Case, Question
from harness.scoring import build, fitted, score_all

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
    named = fitted([build(spec)], QUESTIONS, seed=7)
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
    plain = build("bertscore_f1").metric
    pairs = [
        Case(Question("p", "?", answers=other.answers), answer=Answer(one.answers[0]))
        for one in QUESTIONS
        for other in QUESTIONS
        if one is not other
    ]
    mean = sum(score.value for score in plain.score_all(pairs)) / len(pairs)

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
        fitted([build("bertscore_f1(rescale=true)")], QUESTIONS[:3], seed=7)


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
    identity = build("bertscore_f1").metric.identity()

    assert identity["weights"] == "53aa51172d142c89"
    assert "all-MiniLM-L6-v2@53aa51172d142c89_L6_no-idf_version=" in identity["hash"]
    assert identity["runtime"] == runtime.available()


def test_openvino_gives_what_torch_gives_whatever_the_shape():
    pytest.importorskip("openvino", reason="the extra [fast] is not installed")
    import torch
    from bert_score.utils import get_model

    from harness.models import DEFAULT_MODEL, hush, locate

    hush()
    plain = get_model(str(locate(DEFAULT_MODEL)), 6).eval()
    fast = runtime.encoder(plain)
    generator = torch.Generator().manual_seed(7)
    for shape in ((1, 3), (2, 8), (5, 40), (3, 128)):
        ids = torch.randint(1000, 20_000, shape, generator=generator)
        mask = torch.ones_like(ids)
        mask[0, shape[1] // 2 :] = 0
        with torch.no_grad():
            wanted = plain(ids, attention_mask=mask)[0]
        found = fast(ids, attention_mask=mask)[0]

        assert torch.allclose(found[mask == 1], wanted[mask == 1], atol=1e-4)


def test_openvino_is_kept_from_reporting_that_it_was_imported():
    pytest.importorskip("openvino", reason="the extra [fast] is not installed")
    code = (
        "from harness.metrics.bertscore import _scorer; from harness.models import DEFAULT_MODEL;"
        "_scorer(DEFAULT_MODEL, 6); import sys; "
        "print('openvino' in sys.modules, sys.modules['openvino_telemetry'])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["True", "None"]
