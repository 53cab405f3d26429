"""`score RUN`: a stored run scored again, by the same metrics or by others, and nothing re-run."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace

import pytest

from harness import api
from harness.config.run_config import load
from harness.errors import DataError, StageError
from harness.metrics import metrics
from harness.records import Answer
from harness.runs import runner
from harness.store import reader
from tests.support.damage import unsealed
from tests.support.small import project

FILES = [
    "run.json", "records.jsonl", "questions.jsonl", "texts.jsonl", "report.html", "report.md",
    "report.json", "sums.json",
]  # fmt: skip
FIRST = ["passage_recall@2", "hit_rate@2", "recall(labels=documents, rel=3)@3", "token_f1"]
FIRST += ["abstention", "keyword_recall@2", "corpus_bleu", "decline_recall"]
OTHERS = ["evidence_recall@40t", "ndcg(labels=documents)@5", "map", "judged@5", "chunk_ceiling"]
OTHERS += ["keyword_ndcg@3", "bleu", "rougeL", "length_ratio", "exact_match", "decline_precision"]
OTHERS += ["passage_mrr@5", "recall(labels=keywords)@2", "bpref", "context_overlap", "composite"]
OTHERS += ["composite(weights=0.5*token_f1 + 0.5*recall@2)"]


NAMES = ["ap" if spec == "map" else spec for spec in OTHERS]
"""What a run calls the others."""


@dataclass(frozen=True)
class Faulty:
    """A generator that gives up on one question."""

    name = "faulty"
    version = 1
    answers = True
    copies = False
    at_once = 1
    repeat = 1

    def check(self):
        pass

    def answer(self, question, context, sample=0):
        if "docks" in question:
            raise StageError("429 Too Many Requests")
        return Answer("A day pass costs 6 dollars." if context else "", declined=not context)


def run(folder, metrics, **changes):
    """Run the small project; the question about docks fails where `generator` is Faulty."""
    generator = changes.pop("generator", None)
    config = load(project(folder, metrics=metrics, max_failures=0.5, **changes), [], {})
    if generator is not None:
        cells = tuple(replace(cell, generator=generator) for cell in config.cells)
        config = replace(config, cells=cells)
    return api.run(runner.prepare(config), lambda *_: None).folder


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Two runs of one project: by the first metrics and by the others; a question fails in both.

    The others judge by all kinds of label, so that the first run stores those too.
    """
    folder = tmp_path_factory.mktemp("project")
    both = [*FIRST, "recall(labels=keywords)@2", "bpref"]
    return [run(folder, each, generator=Faulty()) for each in (both, OTHERS)]


@pytest.fixture
def first(originals, tmp_path):
    return shutil.copytree(originals[0], tmp_path / "first")


def test_other_metrics_give_what_a_run_with_them_has(first, originals):
    api.score(first, OTHERS)
    found, wanted = reader.load(first), reader.load(originals[1])

    assert [record.scores for record in found.records] == [
        record.scores for record in wanted.records
    ]
    assert [cell.scores for cell in found.run.cells] == [cell.scores for cell in wanted.run.cells]
    assert found.run.provenance.metrics == wanted.run.provenance.metrics
    assert list(found.run.cells[0].scores) == NAMES


def test_a_failed_question_stays_failed_with_its_reason(first):
    api.score(first, ["rouge1", "passage_hit_rate@5", "composite"])
    stored = reader.load(first)
    failed = [record for record in stored.records if record.question == "docks"]

    assert len(failed) == len(stored.run.cells) == 4
    for record in failed:
        assert record.scores["rouge1"].state == "failed"
        assert record.scores["rouge1"].reason == "generation: 429 Too Many Requests"
        assert record.scores["composite"].reason == "bleu: generation: 429 Too Many Requests"
        assert record.scores["passage_hit_rate@5"].value == 1.0
    for cell in stored.run.cells:
        line = cell.scores["rouge1"]
        assert (line.n, line.failed, line.not_scored) == (4, 1, 1)
        assert line.mean == pytest.approx(line.mean_finished * 3 / 4)


def test_metrics_take_the_run_s_labels_and_level(tmp_path):
    settings = {"labels": "documents", "relevance_level": 2, "retrievers": ["dense"]}
    names = ["precision@3", "precision(rel=1)@3", "composite(weights=1*recall@1)", "bpref"]
    found = run(tmp_path, ["recall@5"], **settings)
    wanted = reader.load(run(tmp_path, names, **settings))
    api.score(found, names)

    rows = [record.scores for record in reader.load(found).records]
    assert rows == [record.scores for record in wanted.records]
    # To "age" rules.md has grade 3 and fares.md 1: one is relevant at level 2, both at 1.
    age = next(each for each in wanted.records if each.question == "age")
    assert sorted(age.judged["documents"].inventory) == [1, 3]
    assert age.scores["precision@3"].value == pytest.approx(1 / 3)
    assert age.scores["precision(rel=1)@3"].value == pytest.approx(2 / 3)


def test_a_metric_of_another_version_is_computed_again_and_its_version_renewed(first):
    path = first / "run.json"
    about = json.loads(path.read_text("utf-8"))
    before = about["cells"][0]["scores"]["token_f1"]["mean"]
    about["provenance"]["metrics"]["token_f1"]["version"] = 0
    about["cells"][0]["scores"]["token_f1"]["mean"] = 0.125
    path.write_text(json.dumps(about), "utf-8")
    unsealed(first)
    found = api.score(first)

    assert found.provenance.metrics["token_f1"].version == metrics["token_f1"].version
    assert found.cells[0].scores["token_f1"].mean == before != 0.125


def test_what_decides_stays_where_it_can_or_is_the_first_that_may(first):
    assert reader.load(first).run.decide_by == "passage_recall@2"
    kept = api.score(first, ["token_f1", "passage_recall@2"])
    # Of the others, chunk_ceiling is descriptive, and recall@2 counts each index's own chunks.
    moved = api.score(first, ["chunk_ceiling", "recall@2", "bleu", "passage_mrr@5"])

    assert (kept.decide_by, moved.decide_by) == ("passage_recall@2", "bleu")
    with pytest.raises(DataError, match="this run has several chunkers"):
        api.score(first, ["recall@2", "ndcg@2"])


def test_nothing_is_run_again_and_no_model_or_index_is_loaded(first, tmp_path):
    # Only the run's folder is left: no corpus, no test set, no configuration, no index.
    alone = tmp_path / "alone" / "first"
    shutil.move(first, alone)
    code = (
        "import sys\nfrom harness.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", code, "score", "first", "-m", "passage_recall@3", "-m", "bleu"]
    done = subprocess.run(
        command, cwd=alone.parent, capture_output=True, text=True, timeout=60, check=True
    )

    loaded = set(done.stderr.split())
    assert "harness" in loaded
    assert not loaded & {"chromadb", "torch", "sentence_transformers", "langchain", "bm25s"}
    assert done.stdout.count("\nRanked by passage_recall@3, ") == 1
    assert sorted(path.name for path in alone.iterdir()) == sorted([*FILES, "charts"])
    assert list(alone.parent.iterdir()) == [alone]
