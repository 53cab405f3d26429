"""Metrics of answers: METRICS.md, section 2, and the libraries they stand for, called directly."""

import random
import re
import warnings

import pytest
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU

from harness.metrics import named_metrics
from harness.records import Answer, Case, Question
from harness.runs import scoring

PYTHON = {
    "said": "Python is a high-level programming language known for its simplicity.",
    "references": (
        "Python is a high-level interpreted language.",
        "Python is a programming language emphasizing readability.",
    ),
    "context": "Python is a language. It is popular. Used for data science.",
}
MOON = {"said": "The 384,400 km, on average.", "references": ("384,400 km",)}


def case(said, references=(), context=""):
    question = Question("q", "?", answers=tuple(references))
    return Case(question, context=context, answer=Answer(said))


def score(name, *about, **more):
    return scoring.score_all([named_metrics.build_metric(name)], [case(*about, **more)])[0][name]


def value(name, *about, **more):
    return score(name, *about, **more).value


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # One tutorial prints bleu 0.389, length_ratio 0.833, context_overlap 0.333 and composite
        # 0.386 for this: none follows from its own code.
        ("bleu(tokens=whitespace)", 0.312394),
        ("length_ratio(tokens=whitespace)", 0.65),
        ("context_overlap(tokens=whitespace)", 0.4),
        (
            "composite(weights=0.5*bleu(tokens=whitespace) + 0.2*length_ratio(tokens=whitespace)"
            " + 0.3*context_overlap(tokens=whitespace))",
            0.406197,
        ),
        ("bleu", 0.4408),
        ("length_ratio", 0.6538),
        ("context_overlap", 0.4615),
        ("composite", 0.4896),
    ],
)
def test_the_worked_example_about_python(name, expected):
    digits = 5e-7 if "whitespace" in name else 5e-5
    assert value(name, **PYTHON) == pytest.approx(expected, abs=digits)


@pytest.mark.parametrize(("name", "f"), [("rouge1", 0.7778), ("rouge2", 0.625), ("rougeL", 0.7778)])
def test_the_worked_example_about_the_fox(name, f):
    said = "A quick brown fox jumps over a lazy dog"
    reference = "The quick brown fox jumps over the lazy dog"
    found = score(name, said, (reference,))

    assert found.value == pytest.approx(f, abs=5e-5)
    assert found.reason == f"precision {f:.4f}, recall {f:.4f}"  # two texts of one length


def test_the_worked_example_about_the_moon():
    assert value("token_f1", **MOON) == pytest.approx(2 / 3, abs=1e-12)
    assert value("exact_match", **MOON) == 0.0


@pytest.mark.parametrize("tokens", ["words", "whitespace"])
@pytest.mark.parametrize("smoothing", range(5))
@pytest.mark.parametrize("said", ["the cat sat on the mat today", "yes", "no", "Paris is", "blue"])
def test_an_answer_equal_to_its_reference_has_bleu_1_however_short(said, smoothing, tokens):
    assert value(f"bleu(smoothing={smoothing}, tokens={tokens})", said, (said,)) == pytest.approx(1)


def texts(count, seed, most=12):
    """Return random (answer, references) over few words, so that they share some."""
    source = random.Random(seed)
    words = ["The", "moon,", "moon", "is", "far", "Far", "384,400", "km.", "not-near", "(air)"]

    def text():
        return " ".join(source.choices(words, k=source.randint(1, most)))

    return [(text(), [text() for _ in range(source.randint(1, 3))]) for _ in range(count)]


PAIRS = texts(200, seed=7)


def words(text):
    return re.findall(r"\w+|[^\w\s]", text.lower())


def whitespace(text):
    return text.lower().split()


@pytest.mark.parametrize("tokens", [words, whitespace], ids=lambda each: each.__name__)
@pytest.mark.parametrize("smoothing", range(5))
def test_bleu_is_nltk_s_with_the_order_cut_to_the_answer_s_length(tokens, smoothing):
    name = f"bleu(smoothing={smoothing}, tokens={tokens.__name__})"
    for said, references in PAIRS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nltk warns of every 0 that method 0 gives
            expected = sentence_bleu(
                [tokens(reference) for reference in references],
                tokens(said),
                smoothing_function=getattr(SmoothingFunction(), f"method{smoothing}"),
                auto_reweigh=True,
            )
        assert value(name, said, references) == pytest.approx(expected, abs=1e-12), said


@pytest.mark.parametrize("tokens", [words, whitespace], ids=lambda each: each.__name__)
def test_bleu_is_sacrebleu_s_where_the_definitions_meet(tokens):
    # nltk's method 1 puts 0.1 in the place of a count of 0, as sacrebleu's floor does.
    theirs = BLEU(tokenize="none", smooth_method="floor", smooth_value=0.1, effective_order=True)
    for said, references in PAIRS:
        joined = [" ".join(tokens(each)) for each in (said, *references)]
        expected = theirs.sentence_score(joined[0], joined[1:]).score / 100
        name = f"bleu(tokens={tokens.__name__})"
        assert value(name, said, references) == pytest.approx(expected, abs=1e-9), said


@pytest.mark.parametrize("stemmer", [False, True])
@pytest.mark.parametrize("name", ["rouge1", "rouge2", "rougeL", "rougeLsum"])
def test_rouge_is_rouge_score_s_f_measure_of_the_best_reference(name, stemmer):
    scorer = RougeScorer([name], use_stemmer=stemmer)
    for said, references in [*PAIRS, ("The moons are\nfar away.", ["far\nThe moon is", "moons"])]:
        best = scorer.score_multi(references, said)[name]
        found = score(f"{name}(stemmer={stemmer})", said, references)
        assert found.value == pytest.approx(best.fmeasure, abs=1e-12), said
        if [scorer.score(r, said)[name].fmeasure for r in references].count(best.fmeasure) == 1:
            assert found.reason == f"precision {best.precision:.4f}, recall {best.recall:.4f}"


@pytest.mark.parametrize(
    ("said", "reference", "rouge1"),
    [
        pytest.param("Луна далеко", "Луна очень далеко", 0.8, id="Cyrillic"),
        pytest.param("القمر بعيد", "القمر بعيد", 1.0, id="Arabic"),
        pytest.param("٣٨٤ ٤٠٠", "٣٨٤ ٤٠٠", 1.0, id="digits of another script"),
        pytest.param("月", "月", 1.0, id="Chinese"),
        pytest.param("Straße 9", "straße 8", 0.5, id="Latin beyond a to z"),
        pytest.param("the moon", "Луна", 0.0, id="another script than the reference"),
        pytest.param("कि", "का", 0.0, id="one letter, two vowel signs"),
        pytest.param("चाँद दूर है", "चाँद बहुत दूर है", 6 / 7, id="Devanagari"),
        pytest.param("cafe\u0301 9", "caf\u00e9 8", 0.5, id="an accent apart and one within"),
        pytest.param("☀\ufe0fда", "да", 1.0, id="a mark that follows no letter"),
        pytest.param("_луна_", "луна", 1.0, id="underscores"),
    ],
)
def test_rouge_keeps_the_letters_of_every_script_and_says_so(said, reference, rouge1):
    found = score("rouge1", said, (reference,))

    assert found.value == pytest.approx(rouge1)
    assert found.reason.endswith(", every script")
    assert "every script" not in score("rouge1", "the moon 9", ("the moon",)).reason


def test_rouge_stems_beside_letters_of_other_scripts_as_rouge_score_does_without_them():
    said, reference = "the moons circling", "the moon circled"
    expected = RougeScorer(["rouge1"], use_stemmer=True).score(reference, said)["rouge1"].fmeasure

    assert expected == pytest.approx(1.0)
    assert value("rouge1(stemmer=True)", f"{said} Élan", (f"{reference} Élan",)) == 1.0
    assert value("rouge1", f"{said} Élan", (f"{reference} Élan",)) == 0.5
    assert value("rouge1(stemmer=True)", "cats Élan", ("cat Élan",)) == 1.0
    assert value("rouge1(stemmer=True)", "ties Élan", ("tie Élan",)) == 1.0
    assert value("rouge1(stemmer=True)", "its Élan", ("it Élan",)) == 0.5


def test_rouge_lsum_compares_line_by_line_and_rouge_l_does_not():
    lines, turned = "a b\nc d", "c d\na b"
    assert value("rougeLsum", lines, (turned,)) == 1.0
    assert value("rougeL", lines, (turned,)) == 0.5


SLOW_PAIRS = [
    ("The moon is far away.", ["The moon is near.", "It is distant."]),
    ("yes", ["no"]),
    ("Phobos and Deimos", ["Deimos and Phobos", "two moons", "Mars"]),
    ("月は遠い", ["The moon is far."]),
    ("far " * 30, ["near"]),
]


@pytest.mark.slow
def test_bertscore_is_bert_score_s_best_precision_recall_and_f_over_the_references():
    from bert_score import BERTScorer

    from harness.models.model_files import DEFAULT_MODEL, locate

    theirs = BERTScorer(model_type=str(locate(DEFAULT_MODEL)), num_layers=6, device="cpu")
    names = ("bertscore_precision", "bertscore_recall", "bertscore_f1")
    rows = scoring.score_all(
        [named_metrics.build_metric(n) for n in names], [case(*p) for p in SLOW_PAIRS]
    )
    for (said, references), row in zip(SLOW_PAIRS, rows, strict=True):
        alone = [theirs.score([said], [reference]) for reference in references]
        expected = [max(float(each[part]) for each in alone) for part in range(3)]
        assert [row[name].value for name in names] == pytest.approx(expected, abs=2e-5), said


@pytest.mark.slow
def test_bertscore_gives_an_empty_answer_0_and_leaves_an_empty_reference_out():
    assert value("bertscore_f1", " \n", ("far",)) == 0.0
    assert score("bertscore_f1", "far", ("", " ")).state == "not_scored"
    assert value("bertscore_f1", "far", ("", "far")) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.slow
def test_semantic_similarity_is_the_cosine_of_the_closest_reference():
    from sentence_transformers import SentenceTransformer, util

    from harness.models.model_files import DEFAULT_MODEL, locate

    model = SentenceTransformer(str(locate(DEFAULT_MODEL)), device="cpu")
    for said, references in [*SLOW_PAIRS, ("cheese", ["The moon orbits.", "a red planet"])]:
        cosine = float(util.cos_sim(model.encode([said]), model.encode(references)).max())
        found = score("semantic_similarity", said, references)
        assert found.value == pytest.approx(max(cosine, 0.0), abs=1e-5), said
        assert float(found.reason.removeprefix("cosine ")) == pytest.approx(cosine, abs=1e-5)


@pytest.mark.slow
def test_semantic_similarity_gives_an_empty_answer_0_and_leaves_an_empty_reference_out():
    assert value("semantic_similarity", " \n", ("far",)) == 0.0
    assert score("semantic_similarity", "far", ("", " ")).state == "not_scored"
    assert value("semantic_similarity", "far", ("", "far")) == pytest.approx(1.0, abs=1e-6)
