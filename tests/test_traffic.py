"""A test set against the questions people really ask: reading them, and what is said of them."""

import numpy as np
import pytest
from scipy import stats

from harness.cache.folders import Cache
from harness.config.run_config import load
from harness.errors import ConfigError, DataError
from harness.preflight.checks import CheckInput
from harness.preflight.checks import traffic as check
from harness.preflight.checks.traffic import CategoryShare, Far, measure_likeness
from harness.preflight.traffic_file import TrafficFile, TrafficQuestion, read
from harness.records import Question
from harness.runs.artefacts import Artefacts
from harness.runs.runner import prepare
from tests import small


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("asked.txt", "\ufeffHow far?\n\n  Which moons? \r\n"),
        ("asked", '{"question": "How far?"}\n\n{"query": " Which moons?", "text": null}\n'),
        ("asked.jsonl", '{"text": "How far?"}\n{"question": " "}\n{"text": "Which moons?"}'),
        ("asked.csv", "when,Query\n2026-01-01,How far?\n,\n2026-01-02,Which moons?\n"),
        ("asked.tsv", "query\tuser\nHow far?\ta\n\tb\nWhich moons?\tc\n"),
    ],
)
def test_each_form_of_file_gives_its_questions_with_their_lines(tmp_path, name, content):
    found = read(written(tmp_path, name, content))

    lines = {"asked.csv": (2, 4), "asked.tsv": (2, 4)}.get(name, (1, 3))
    assert found.questions == (
        TrafficQuestion(lines[0], "How far?"),
        TrafficQuestion(lines[1], "Which moons?"),
    )
    assert found.of == 2


def test_categories_are_read_and_may_be_missing(tmp_path):
    file = written(tmp_path, "a.csv", "question,category\nWhy?,billing\nWho?,\n")

    assert [each.category for each in read(file).questions] == ["billing", None]


def test_everything_wrong_is_said_at_once_by_line(tmp_path):
    lines = [
        b'{"question": "Fine?"}',
        b'{"title": "no question"}',
        b'{"question": 7}',
        b'{"text": "x", "category": ["a"]}',
        b'{"text": "a\\u0000b"}',
        b'{"text": "' + b"x" * 10_001 + b'"}',
        b'{"text": "\\ud800"}',
        b"\xff",
        b"[" * 100_000,
    ]

    with pytest.raises(DataError) as refused:
        read(written(tmp_path, "a.jsonl", b"\n".join(lines)))

    said = {each.where: each.what for each in refused.value.problems}
    assert list(said) == [f"line {number}" for number in range(2, 10)]
    assert said["line 2"] == "has no 'question', 'text' or 'query', but 'title'"
    assert said["line 3"] == "question: is int, not a text"
    assert said["line 6"] == "has 10,001 characters, which is no question"
    assert all(each.hint for each in refused.value.problems)


def test_no_more_than_twenty_lines_are_listed_and_the_rest_is_counted(tmp_path):
    with pytest.raises(DataError) as refused:
        read(written(tmp_path, "a.txt", b"\xff\n" * 1_000))

    assert len(refused.value.problems) == 21
    assert refused.value.problems[-1].where == "and 980 more"


def test_what_is_no_file_of_questions_is_refused(tmp_path):
    large, table = tmp_path / "large.txt", tmp_path / "large.csv"
    for path, size in ((large, 1 << 27), (table, 1 << 25)):
        with path.open("wb") as file:
            file.truncate(size + 1)
    files = [
        tmp_path,
        tmp_path / "nowhere.txt",
        large,
        table,
        written(tmp_path, "empty.csv", "a,b\n1,2"),
    ]

    for path in [*files, written(tmp_path, "zip", b"PK\x03\x04\x00\x00\xff"), tmp_path / "a\0b"]:
        with pytest.raises(DataError):
            read(path)


def test_of_a_large_file_every_question_has_the_same_chance_and_the_same_ones_are_taken(tmp_path):
    file = written(tmp_path, "a.txt", "".join(f"question {n}?\n" for n in range(5_000)))

    found = read(file, most=500)

    lines = [each.line for each in found.questions]
    assert (found.of, len(lines), lines) == (5_000, 500, sorted(set(lines)))
    assert read(file, most=500) == found
    # Kolmogorov and Smirnov's distance from the uniform distribution, at the 1 % level.
    assert stats.kstest(np.array(lines) / 5_000, "uniform").statistic < 1.63 / 500**0.5


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


def test_lengths_and_categories_stand_side_by_side():
    real = tuple(TrafficQuestion(n, "one two", "billing" if n < 3 else "other") for n in range(4))
    tests = [Question(str(n), "one two three four", category="other") for n in range(4)]

    found = measure_likeness(
        TrafficFile((*real, TrafficQuestion(9, "x")), 5),
        tests,
        lambda texts: np.eye(9)[: len(texts)],
    )

    assert (found.words, found.test_words) == ((2, 2, 2), (4, 4, 4))
    assert found.categories == (CategoryShare("billing", 0.75, 0), CategoryShare("other", 0.25, 1))


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
    written(folder, "asked.txt", QUESTIONS)
    config = load(small.project(folder, traffic="asked.txt", retrievers=["dense"]), [], {})
    return prepare(config)


def test_what_was_found_is_kept_and_no_question_is_in_the_cache(prepared):
    told = []
    with Cache(prepared.config.cache) as cache:
        first = check.compare_traffic(prepared, cache, progress=lambda *each: told.append(each))
    with Cache(prepared.config.cache) as cache:
        again = check.compare_traffic(prepared, cache, progress=lambda *each: told.append(each))

    assert again == first
    assert told == [("comparing the questions people ask", 5, 5)]
    kept = b"".join(
        each.read_bytes() for each in prepared.config.cache.rglob("*") if each.is_file()
    )
    assert b"rows" in kept
    assert b"marmalade" not in kept


def test_a_hosted_model_is_not_asked_before_the_run_has_begun(tmp_path):
    written(tmp_path, "asked.txt", QUESTIONS)
    cls = "langchain_core.embeddings:DeterministicFakeEmbedding"
    embedders = [{"langchain": {"cls": cls, "arguments": {"size": 8}}}]
    config = small.project(tmp_path, traffic="asked.txt", embedders=embedders)
    prepared = prepare(load(config, [], {}))

    with Cache(prepared.config.cache) as cache:
        before = check.compare_traffic(prepared, cache, deep=False)
        deep = check.compare_traffic(prepared, cache, deep=True)
        after = check.compare_traffic(prepared, cache, deep=False)

    assert before is None
    assert after == deep
    assert deep.looked_at == 7


def test_the_config_names_the_file_and_one_that_is_missing_is_a_problem_of_it(project):
    written(project.folder, "asked.txt", QUESTIONS)
    assert load(project.config(traffic="asked.txt"), [], {}).traffic.name == "asked.txt"

    with pytest.raises(ConfigError, match=r"line \d+, traffic: 'nowhere' does not exist"):
        load(project.config(traffic="nowhere"), [], {})


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (["--traffic", "nowhere.txt"], "the file: cannot be read: No such file or directory"),
        (["--unlike", "out.jsonl"], "--unlike writes what --traffic FILE finds"),
    ],
)
def test_what_validate_cannot_do_is_refused(project, cli, arguments, fact):
    said = cli("validate", "config.yaml", *arguments)

    assert said.status == 2
    assert fact in said.err


def test_what_is_said_names_the_figures(prepared):
    with Cache(prepared.config.cache) as cache:
        stages = Artefacts(prepared.corpus, cache, prepared.plan, prepared.testset.questions)
        found = list(
            check.find_unlike_traffic(CheckInput(prepared, stages, cache, None, False, silent))
        )

    assert [each.level for each in found] == ["warning", "note"]
    assert found[0].text.startswith(
        "57.1 % (25.0 to 84.2 %) of 7 questions people asked (5 different) have no test question "
        "near, which is a cosine of "
    )
    assert found[0].examples == ("line 4", "line 6", "line 7")
    assert found[1].text == (
        "half of the questions people ask have up to 4 words (the middle half 4 to 5.5), "
        "half of the test's up to 6 words (the middle half 5 to 7)"
    )


def silent(work, done, total):
    """Take progress, and show nothing."""
