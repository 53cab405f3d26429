"""The verb `evaluate` on rankings: text, JSON, exit statuses, and a published set of judgements."""

import gzip
import json
import random

import pytest
import pytrec_eval

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 1\nq3 0 c 2\n"
RUN = "q1 Q0 a 1 .5 x\nq1 Q0 b 2 .25 x\nq2 Q0 b 1 .5 x\nq2 Q0 a 2 .25 x\nq9 Q0 b 1 .5 x\n"
NOTE = "note: 1 question of the run without judgements: left out\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write judgements and a ranking; gives the arguments that name them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    return ["--qrels", "qrels", "--run", "run"]


def test_means_are_printed_under_the_names_as_typed_with_all_they_leave_out(files, cli):
    names = ["map", "success@1", "ndcg( gain = linear )@2", "precision(rel=2)@1"]
    few = "no interval: n = 3 is under 6"
    said = cli("evaluate", *files, *(each for name in names for each in ("-m", name)))

    assert said.status == 0
    assert said.err == NOTE
    rows = [
        f"map 0.5000 n = 3, 1 failed, 0.7500 finished, {few}",
        f"success@1 0.3333 n = 3, 1 failed, 0.5000 finished, {few}",
        f"ndcg( gain = linear )@2 0.5436 n = 3, 1 failed, 0.8155 finished, {few}",
        f"precision(rel=2)@1 0.0000 n = 3, 1 failed, 0.0000 finished, {few}",
    ]
    assert " ".join(said.out.split()) == (
        "judged by documents, 95 % interval metric mean it rests on "
        f"{' '.join(rows)} missing, counted as 0: 1 question: q3"
    )


def test_per_question_prints_every_score_first(files, cli):
    said = cli("evaluate", *files, "-m", "map", "-m", "ap", "--per-question")

    # An alias stands beside the name it is an alias of: both as typed.
    assert said.out.splitlines()[:5] == [
        "question\tmap\tap",
        "q1\t1.0000\t1.0000",
        "q2\t0.5000\t0.5000",
        "q3\t–\t–",
        "",
    ]
    assert said.out.splitlines()[5] == "judged by documents, 95 % interval"


COUNTED = {"mean", "mean_finished", "low", "high", "n", "failed", "not_scored", "metric_failed"}


def test_json_has_metrics_questions_missing_and_notes_and_no_more(files, cli):
    said = cli("evaluate", *files, "-m", "rr", "-m", "judged@2", "--json")
    found = json.loads(said.out)

    assert said.err == NOTE
    assert list(found) == ["metrics", "questions", "missing", "notes"]
    assert list(found["metrics"]) == ["rr", "judged@2"]
    assert found["metrics"]["rr"].keys() == COUNTED
    assert found["metrics"]["rr"] == {
        "mean": 0.5, "mean_finished": 0.75, "low": None, "high": None, "n": 3, "failed": 1,
        "not_scored": 0, "metric_failed": 0,
    }  # fmt: skip
    assert found["questions"] == {
        "q1": {"rr": 1.0, "judged@2": 1.0},
        "q2": {"rr": 0.5, "judged@2": 0.5},
        "q3": {"rr": None, "judged@2": None},
    }
    assert found["missing"] == ["q3"]
    assert found["notes"] == ["1 question of the run without judgements: left out"]


def test_the_level_of_relevance_is_trec_eval_s_l(files, cli):
    with open("run", "a") as run:
        run.write("q3 Q0 c 1 .5 x\n")
    for option in ("-l", "--relevance-level"):
        found = json.loads(cli("evaluate", *files, "-m", "mrr", option, "2", "--json").out)
        assert found["questions"] == {"q1": {"mrr": 0.0}, "q2": {"mrr": 0.0}, "q3": {"mrr": 1.0}}


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--qrels", "qrels"],
        ["--run", "run"],
        ["--qrels", "qrels", "--answers", "run"],
        ["--run", "run", "--answers", "run"],
        ["--qrels", "qrels", "--run", "run", "--answers", "run"],
        ["-m", "ap"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("files")
def test_a_wrong_combination_is_refused_with_the_two_there_are(cli, arguments):
    said = cli("evaluate", *arguments)

    assert (said.status, said.out) == (2, "")
    assert said.err == "name what to score: --qrels Q --run R, or --answers A\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--qrels", "none", "--run", "run"],
            "none cannot be read:\n  the file: does not exist\n",
        ),
        (
            ["--qrels", "qrels", "--run", "broken"],
            "broken cannot be read:\n"
            "  line 2: ranks document 'a' for question 'q1' a second time\n"
            "    keep one of the two lines\n"
            "  line 3: the score 'nan' is not a finite number\n"
            "    nothing can be ranked by it\n",
        ),
        (
            ["--qrels", "qrels", "--run", "run", "-m", "token_f1"],
            "metric 'token_f1' needs answer, references\n"
            "  there is only a ranking and judgements\n",
        ),
        (
            ["--qrels", "run", "--run", "qrels"],
            "run cannot be read:\n"
            + "".join(
                f"  line {at}: has 6 fields\n    4: question iteration document grade\n"
                for at in range(1, 6)
            ),
        ),
    ],
)
@pytest.mark.usefixtures("files")
def test_what_cannot_be_scored_ends_with_2_and_says_why(cli, tmp_path, arguments, message):
    (tmp_path / "broken").write_text("q1 Q0 a 1 .5 x\nq1 Q0 a 2 .25 x\nq1 Q0 b 3 nan x\n")
    said = cli("evaluate", *arguments)

    assert (said.status, said.out, said.err) == (2, "", message)


PUBLISHED = {
    "ndcg@10": "ndcg_cut_10",
    "map": "map",
    "rr": "recip_rank",
    "recall@100": "recall_100",
    "precision@5": "P_5",
    "success@1": "success_1",
    "r_precision": "Rprec",
    "bpref": "bpref",
}


def test_a_published_set_of_judgements_scores_as_trec_eval_has_it(test_data, tmp_path, cli):
    judgements = test_data / "xquad-en" / "qrels" / "test.tsv"
    rows = [line.split("\t") for line in judgements.read_text("utf-8").splitlines()[1:]]
    qrels = {}
    for question, document, grade in rows:
        qrels.setdefault(question, {})[document] = int(grade)
    documents = sorted({document for _, document, _ in rows})
    source = random.Random(7)
    # Scores in sixteenths: exact as float32, which pytrec_eval keeps, and full of ties.
    run = {
        question: {doc: source.randint(0, 64) / 16 for doc in source.sample(documents, 100)}
        for question in list(qrels)[:-7]
    }
    for question, scores in run.items():
        if source.random() < 0.5:
            scores[next(iter(qrels[question]))] = 3.9375
    lines = [f"{q}\tQ0\t{d}\t0\t{s}\tours\n" for q, row in run.items() for d, s in row.items()]
    source.shuffle(lines)
    path = tmp_path / "run.gz"
    path.write_bytes(gzip.compress("".join(lines).encode()))

    names = [each for name in PUBLISHED for each in ("-m", name)]
    said = cli("evaluate", "--qrels", judgements, "--run", path, "--json", *names)
    found = json.loads(said.out)

    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(PUBLISHED.values())).evaluate(run)
    assert (len(qrels), len(theirs)) == (1185, 1178)
    assert found["missing"] == list(qrels)[-7:]
    for question, row in theirs.items():
        expected = {name: row[trec] for name, trec in PUBLISHED.items()}
        assert found["questions"][question] == pytest.approx(expected, abs=1e-9), question
    for name, trec in PUBLISHED.items():
        line = found["metrics"][name]
        mean = sum(row[trec] for row in theirs.values()) / 1185
        assert line["mean"] == pytest.approx(mean, abs=1e-9), name
        assert (line["n"], line["failed"]) == (1185, 7)
        assert line["low"] < line["mean"] < line["high"]
