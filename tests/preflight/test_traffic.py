"""A test set against the questions people really ask: what is near, and how often it is not."""

import numpy as np
import pytest

from harness.cache.folders import Cache
from harness.config.run_config import load
from harness.preflight.checks import CheckInput
from harness.preflight.checks.traffic import (
    Far,
    compare_traffic,
    find_unlike_traffic,
    measure_likeness,
)
from harness.preflight.traffic_file import TrafficFile, TrafficQuestion
from harness.records import Question
from harness.runs.artefacts import Artefacts
from harness.runs.runner import prepare
from tests.support import small


def angles(**degrees):
    """Return what embeds each text as the unit vector at an angle."""

    def embed(texts):
        turned = np.radians([degrees[text] for text in texts])
        return np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)

    return embed


def asked(*texts, of=None):
    found = tuple(TrafficQuestion(line, text) for line, text in enumerate(texts, start=1))
    return TrafficFile(found, of or len(found))


def test_what_is_far_is_measured_on_the_test_set_and_counted_as_often_as_it_was_asked():
    # The nearest other test question is 10, 10 and 30 degrees away: the bound is 30.
    tests = [Question("a", "a"), Question("b", "b"), Question("c", "c"), Question("twin", "A")]
    embed = angles(a=0, b=10, c=40, near=69, far=71, farther=-50)

    found = measure_likeness(
        asked("near", "far", "near", "FAR ", "farther", "far", "a"), tests, lower(embed)
    )

    assert found.bound == pytest.approx(np.cos(np.radians(30)), abs=1e-6)
    assert (found.tests, found.expected) == (3, 0.25)
    assert found.far == (
        Far(2, 3, round(float(np.cos(np.radians(31))), 4), "c"),
        Far(5, 1, round(float(np.cos(np.radians(50))), 4), "a"),
    )
    assert (found.looked_at, found.different) == (7, 4)
    assert found.far_share == pytest.approx(4 / 7)
    assert (found.interval.low, found.interval.high) == pytest.approx((0.2505, 0.8418), abs=1e-4)


def lower(embed):
    return lambda texts: embed([text.strip().lower() for text in texts])


def test_the_bound_leaves_five_percent_of_the_test_set_below():
    # Of 59 questions k = 5 % of 60 = 3: gaps of 1, 2, ... 59 degrees to a twin of each.
    pairs = {f"{side}{n}": 0.0 for n in range(30) for side in "xy"}
    vectors = {}
    for n in range(30):
        axis = np.zeros(60)
        axis[2 * n] = 1
        turned = np.radians(n + 1)
        other = np.zeros(60)
        other[2 * n], other[2 * n + 1] = np.cos(turned), np.sin(turned)
        vectors |= {f"x{n}": axis, f"y{n}": other}
    tests = [Question(name, name) for name in pairs if name != "y0"]

    found = measure_likeness(
        asked("x1"), tests, lambda texts: np.stack([vectors[t] for t in texts])
    )

    # x0 has lost its twin: its cosine is 0; then come both of the pair 30 degrees apart.
    assert found.bound == pytest.approx(np.cos(np.radians(30)))
    assert found.expected == 3 / 60


def test_questions_like_the_tests_own_are_far_as_often_as_is_said():
    chance, shares = np.random.default_rng(1), []
    for _ in range(200):
        vectors = chance.normal(size=(118, 6))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        tests = [Question(str(n), str(n)) for n in range(59)]
        real = asked(*map(str, range(59, 118)))
        found = measure_likeness(real, tests, lambda texts, v=vectors: v[[int(t) for t in texts]])
        shares.append(found.far_share)

    assert found.expected == 0.05
    assert np.mean(shares) == pytest.approx(0.05, abs=0.01)


def test_one_test_question_is_too_few_to_say_what_is_near():
    found = measure_likeness(asked("near"), [Question("a", "a")], angles(a=0, near=1))

    assert (found.bound, found.far) == (None, ())


QUESTIONS = """What does a day pass cost?
What does a day pass cost?
how old must riders be
Explain zebra quantum marmalade
Explain zebra quantum marmalade
Sing volcano opera
Sing volcano opera quietly
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Return a project whose test set is not like its traffic, checked."""
    folder = tmp_path_factory.mktemp("traffic")
    (folder / "asked.txt").write_text(QUESTIONS)
    config = load(small.project(folder, traffic="asked.txt", retrievers=["dense"]), [], {})
    return prepare(config)


def test_what_was_found_is_kept_and_no_question_is_in_the_cache(prepared):
    told = []
    with Cache(prepared.config.cache) as cache:
        first = compare_traffic(prepared, cache, progress=lambda *each: told.append(each))
    with Cache(prepared.config.cache) as cache:
        again = compare_traffic(prepared, cache, progress=lambda *each: told.append(each))

    assert again == first
    assert told == [("comparing the questions people ask", 5, 5)]
    kept = b"".join(
        path.read_bytes() for path in prepared.config.cache.rglob("*") if path.is_file()
    )
    assert b"rows" in kept
    assert b"marmalade" not in kept


def test_a_hosted_model_is_not_asked_before_the_run_has_begun(tmp_path):
    (tmp_path / "asked.txt").write_text(QUESTIONS)
    cls = "langchain_core.embeddings:DeterministicFakeEmbedding"
    embedders = [{"langchain": {"cls": cls, "arguments": {"size": 8}}}]
    config = small.project(tmp_path, traffic="asked.txt", embedders=embedders)
    prepared = prepare(load(config, [], {}))

    with Cache(prepared.config.cache) as cache:
        before = compare_traffic(prepared, cache, deep=False)
        deep = compare_traffic(prepared, cache, deep=True)
        after = compare_traffic(prepared, cache, deep=False)

    assert before is None
    assert after == deep
    assert deep.looked_at == 7


def test_what_is_said_names_the_figures(prepared):
    with Cache(prepared.config.cache) as cache:
        stages = Artefacts(prepared.corpus, cache, prepared.plan, prepared.testset.questions)
        look = CheckInput(prepared, stages, cache, None, False, lambda *_: None)
        found = list(find_unlike_traffic(look))

    assert [each.level for each in found] == ["warning"]
    assert found[0].text.startswith(
        "57.1 % (25.0 to 84.2 %) of 7 questions people asked (5 different) have no test question "
        "near, which is a cosine of "
    )
    assert found[0].examples == ("line 4", "line 6", "line 7")
