"""Runs of systems of the user's own: what their own parts would have got, and every fault."""

import json
import sys
from pathlib import Path

import pytest
import yaml

from harness.api import run
from harness.config.run_config import load
from harness.errors import ConfigError
from harness.runs import rescore
from harness.runs.runner import prepare
from harness.store.reader import load as stored
from tests.support.reply_server import replying
from tests.support.small import QUESTIONS, project

ROOT = Path(__file__).parent.parent.parent


METRICS = ["passage_recall@2", "hit_rate@2", "recall@2", "token_f1", "abstention"]


OWN_PARTS = """
from pathlib import Path

from harness.ranking import context
from harness.cache.folders import Cache
from harness.config.run_config import load
from harness.runs.runner import prepare
from harness.runs.artefacts import Artefacts

prepared = prepare(load(Path({config!r}), [], {{}}))
(cell,) = prepared.config.cells
cache = Cache(Path({cache!r}))
searched = Artefacts(prepared.corpus, cache, prepared.plan, ()).searchable(cell)

def ask(question):
    (hits,) = cell.retriever.retrieve([question], searched, prepared.config.settings.retrieve)
    answer = cell.generator.answer(question, context.assemble_context(hits, 5, 1500))
    return [as_told(hit) for hit in hits], answer.text
"""


NAMED = """
def as_told(hit):
    return {"text": hit.chunk.text, "id": "/srv/data/" + hit.chunk.span.doc, "score": hit.score}
"""


TEXT_ALONE = """
def as_told(hit):
    return hit.chunk.text
"""


def written(folder, name, text):
    """Write a module beside the configuration; its name is of this test alone."""
    module = f"{name}_{folder.name.replace('-', '_')}"
    (folder / f"{module}.py").write_text(text)
    return module


@pytest.fixture(autouse=True)
def _path(monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])


def own(folder, system, **changes):
    """Write a project whose system is the user's own; what it replaces is left out."""
    path = project(folder, **{"metrics": METRICS, **changes})
    data = yaml.safe_load(path.read_text())
    for key in ("chunkers", "embedders", "retrievers", "generators", "context"):
        if key not in changes:
            data.pop(key, None)
    path.write_text(yaml.safe_dump({**data, "system": system, **changes}))
    return path


def ran(config, *overrides, **options):
    done = run(prepare(load(config, overrides, {})), lambda work, done, total: None, **options)
    return stored(done.folder)


def records(run):
    return {record.question: record for record in run.records}


def test_a_systems_scores_are_those_of_the_parts_it_is_made_of(tmp_path):
    parts = {
        "corpus": str(ROOT / "corpora" / "insurellm"),
        "testset": str(ROOT / "testsets" / "insurellm.jsonl"),
        "metrics": [
            "passage_recall@5",
            "evidence_recall@1000t",
            "evidence_precision@1000t",
            "passage_mrr@10",
            "hit_rate@5",
            "mrr@10",
            "precision@5",
            "recall(labels=documents)@5",
            "ndcg(labels=documents)@10",
            "ap(labels=documents)@10",
            "keyword_recall@5",
            "token_f1",
            "bleu",
            "abstention",
        ],
        "output": str(tmp_path / "reports"),
        "cache": str(tmp_path / "cache"),
    }
    native = tmp_path / "native.yaml"
    grid = {"chunkers": ["recursive"], "retrievers": ["bm25"], "embedders": ["hashing"]}
    native.write_text(yaml.safe_dump({**parts, **grid}))
    about = {"config": str(native), "cache": str(tmp_path / "other")}
    ours = ran(native)
    spans = lies(ours)
    for name, told in (("named", NAMED), ("text_alone", TEXT_ALONE)):
        module = written(tmp_path, name, OWN_PARTS.format(**about) + told)
        config = tmp_path / f"{name}.yaml"
        config.write_text(yaml.safe_dump({**parts, "system": {"python": f"{module}:ask"}}))
        theirs = ran(config)

        matched = theirs.run.cells[0].matched
        assert matched.exact == matched.contexts > 3000, name
        assert theirs.run.cells[0].scores == ours.run.cells[0].scores, name
        assert lies(theirs) == spans, name


def lies(run):
    """Return where the hits of each question lie, and how they were judged."""
    return [
        [(hit.doc, hit.start, hit.end, hit.grade) for hit in record.hits] for record in run.records
    ]


def test_answers_alone_leave_rankings_unscored_and_contexts_alone_the_answers(tmp_path):
    said = {"answer": "6 dollars", "hits": ["A day pass costs 6 dollars."]}
    with replying() as server:
        server.replies = [said]
        http = {"url": server.url}
        both = [
            {"http": {**http, "response": {"answer": "$.answer"}, "label": "answers"}},
            {"http": {**http, "response": {"contexts": "$.hits"}, "label": "contexts"}},
        ]
        run = ran(own(tmp_path, both, decide_by="hit_rate@2"))
        scored = rescore.rescore(run.folder, ["hit_rate@2", "token_f1"])

    means = {
        cell.name: {name: (line.mean, line.n) for name, line in cell.scores.items()}
        for cell in run.run.cells
    }
    assert means["answers"]["hit_rate@2"] == (None, 0)
    assert means["answers"]["passage_recall@2"] == (None, 0)
    assert means["answers"]["abstention"] == (0.8, 5)
    assert means["contexts"]["hit_rate@2"] == (0.25, 4)
    assert means["contexts"]["token_f1"] == (None, 0)
    record = next(each for each in run.records if each.cell == "answers")
    assert (record.ranked, record.context) == (False, None)
    reason = record.scores["hit_rate@2"].reason
    assert reason == "the system does not tell what it retrieved"
    assert [cell.scores["hit_rate@2"].mean for cell in scored.cells] == [None, 0.25]


KINDS = """
import os
asked = []

def fail(question):
    asked.append(question)
    if question in os.environ.get("FAILING", "").split("|"):
        raise RuntimeError("no reply")

def answers(question):
    fail(question)
    return "6 dollars"

def documents(question):
    fail(question)
    return ["A day pass costs 6 dollars."], None

def listed(question):
    fail(question)
    return ["A day pass costs 6 dollars."]

def some(question):
    asked.append(question)
    answer = None if question in os.environ.get("SILENT", "").split("|") else "6 dollars"
    documents = ["A day pass costs 6 dollars."]
    if os.environ.get("FORM") == "mapping":
        return {"contexts": documents, "answer": answer}
    return documents, answer
"""


EIGHT = [{**QUESTIONS[0], "id": f"q{n}", "question": f"How much, asked {n}?"} for n in range(8)]


def kind(folder, function, **changes):
    """Write a project of eight questions, and of one kind of system; return it and what it got."""
    module = written(folder, "kinds", KINDS)
    path = own(folder, {"python": f"{module}:{function}"}, **changes)
    rows = "".join(json.dumps(row) + "\n" for row in EIGHT)
    (folder / "testset.jsonl").write_text(rows)
    return path, module


def states(run, question, *metrics):
    return [records(run)[question].scores[name].state for name in metrics]


@pytest.mark.parametrize("failing", ["q4"])
@pytest.mark.parametrize(
    ("function", "applies", "others"),
    [
        ("answers", ["token_f1"], ["hit_rate@2", "passage_recall@2", "context_overlap"]),
        ("documents", ["hit_rate@2", "passage_recall@2"], ["token_f1", "context_overlap"]),
    ],
)
def test_a_question_fails_for_what_the_system_tells_of_others_and_no_more(
    tmp_path, monkeypatch, function, applies, others, failing
):
    monkeypatch.setenv("FAILING", f"How much, asked {failing[1]}?")
    config, _ = kind(tmp_path, function, metrics=[*applies, *others], max_failures=1)
    run = ran(config)

    assert states(run, failing, *applies) == ["failed"] * len(applies)
    assert states(run, failing, *others) == ["not_scored"] * len(others)
    scores = run.run.cells[0].scores
    for name in applies:
        assert (scores[name].n, scores[name].failed) == (8, 1)
        assert scores[name].mean == pytest.approx(7 / 8)
    for name in others:
        assert (scores[name].n, scores[name].not_scored) == (0, 8)
    again = rescore.rescore(run.folder, applies).cells[0].scores
    assert again == {name: scores[name] for name in applies}


@pytest.mark.parametrize(("form", "silent"), [("mapping", "q0"), ("pair", "q4")])
def test_no_answer_is_a_failure_of_a_system_that_answers(tmp_path, monkeypatch, form, silent):
    monkeypatch.setenv("FORM", form)
    monkeypatch.setenv("SILENT", f"How much, asked {silent[1]}?")
    config, _ = kind(tmp_path, "some", metrics=["hit_rate@2", "token_f1"], max_failures=1)
    first = ran(config)
    second = ran(config)
    monkeypatch.delenv("SILENT")
    third = ran(config)

    for each in (first, second):
        error = records(each)[silent].error
        assert (error.stage, error.reason[:9]) == ("generation", "no answer")
        assert states(each, silent, "hit_rate@2", "token_f1") == ["scored", "failed"]
        assert each.run.cells[0].scores["token_f1"].mean == pytest.approx(7 / 8)
    assert third.run.cells[0].scores["token_f1"].mean == 1.0
    assert records(third)[silent].error is None


@pytest.mark.parametrize("form", ["mapping", "pair"])
def test_no_answer_is_no_failure_of_a_system_that_never_answers(tmp_path, monkeypatch, form):
    monkeypatch.setenv("FORM", form)
    monkeypatch.setenv("SILENT", "|".join(each["question"] for each in EIGHT))
    config, module = kind(tmp_path, "some", metrics=["hit_rate@2", "token_f1"])
    run = ran(config)
    again = ran(config)

    assert [each.error for each in run.records] == [None] * 8
    assert states(run, "q3", "hit_rate@2", "token_f1") == ["scored", "not_scored"]
    assert len(sys.modules[module].asked) == 16
    assert again.run.cells[0].scores == run.run.cells[0].scores


@pytest.mark.parametrize(
    ("system", "metrics"),
    [
        ({"python": "a:b"}, ["hit_rate@5", "precision@5", "mrr@10", "bleu", "rougeL", "token_f1"]),
        (
            {"http": {"url": "http://h", "response": {"contexts": "$.c"}}},
            ["hit_rate@5", "precision@5", "mrr@10"],
        ),
        (
            {"http": {"url": "http://h", "response": {"answer": "$.a"}}},
            ["bleu", "rougeL", "token_f1"],
        ),
    ],
)
def test_the_default_metrics_are_those_that_apply(tmp_path, system, metrics):
    path = own(tmp_path, system, retrieve=10)
    data = yaml.safe_load(path.read_text())
    del data["metrics"]
    path.write_text(yaml.safe_dump(data))
    names = [each.name for each in load(path, [], {}).metrics]

    assert [name for name in names if name != "abstention"] == metrics


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"chunkers": ["fixed"]}, "`chunkers` and `system` exclude each other"),
        ({"context": {"chunks": 2}}, "`context` and `system` exclude each other"),
        ({"system": {"htp": "x"}}, "unknown system 'htp'"),
        ({"system": {"python": {"callable": "x"}}}, "system 'python' has no parameter 'callable'"),
        ({"system": {"python": "no name"}}, "'no name' is no dotted name"),
        ({"system": {"trec_run": {"path": "gone.run"}}}, "'gone.run' does not exist"),
        ({"system": [{"python": "a:b"}, {"python": "a:b"}]}, "two systems have the name"),
        ({"decline_patterns": ["("]}, "decline_patterns"),
        ({"decline_patterns": []}, "decline_patterns"),
        ({"decline_patterns": "no idea"}, "decline_patterns"),
        ({"baseline": {"retriever": "bm25"}}, "no system has this name"),
        (
            {"system": {"http": {"url": "http://h", "response": {"contexts": "$.c"}}}},
            "'token_f1' needs an answer, and no system gives one",
        ),
        (
            {"system": {"http": {"url": "http://h", "response": {"answer": "$.a"}}}},
            "'hit_rate@2' needs contexts, and no system tells any",
        ),
        (
            {"system": [{"python": "a:b"}, {"python": "a:c"}], "metrics": ["recall@2"]},
            "'recall@2' counts each index's own chunks",
        ),
    ],
)
def test_what_does_not_go_together_is_said_before_anything_is_asked(tmp_path, changes, said):
    path = own(tmp_path, **{"system": {"python": "a:b"}, **changes})
    with pytest.raises(ConfigError) as caught:
        prepare(load(path, [], {}))

    assert said in str(caught.value)
