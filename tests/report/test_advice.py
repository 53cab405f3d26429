"""Advice: each piece says how many questions it could mend, and on which figure it rests."""

from dataclasses import replace

import pytest

from harness import api
from harness.config.run_config import load
from harness.records import Arrival, Failure, PassageFacts
from harness.report.run_view import View
from harness.report.sections.advice import advice
from harness.runs import runner
from harness.store import reader
from tests.support.small import project


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    changes = {"chunkers": [{"fixed": {"size": 60}}], "retrievers": ["bm25"], "retrieve": 3}
    made = project(tmp_path_factory.mktemp("advice"), **changes)
    return reader.load(api.run(runner.prepare(load(made, [], {})), lambda *_: None).folder)


def lost(at, passages=(), **changes):
    arrivals = [
        Arrival(group=str(number), stage=stage, facts=PassageFacts(**facts))
        for number, (stage, facts) in enumerate(passages)
    ]
    return {
        "lost_at": at, "passages": arrivals, "error": None, "traced_to": 1000, **changes
    }  # fmt: skip


def advised(stored, *outcomes, **cell):
    """Return the advice where the first questions came out like this, and all others were answered.

    The last question of the small project is unanswerable, and declined here.
    """
    (line,) = stored.run.cells
    line = replace(line, **cell)
    records = []
    for at, record in enumerate(stored.records):
        answerable = stored.questions[record.question].answerable
        update = outcomes[at] if at < len(outcomes) else lost("none" if answerable else None)
        if not answerable:
            update = {"declined": True, **update}
        records.append(replace(record, **update))
    run = replace(stored.run, cells=[line])
    view = View(
        reader.StoredRun(stored.folder, run, tuple(records), stored.questions, stored.texts)
    )
    return advice(view, line)


def test_nothing_lost_needs_no_advice(stored):
    assert advised(stored) == []


CUT = [
    lost("chunking", [("chunking", {"pieces": 2, "largest": 0.6})]),
    lost("chunking", [("chunking", {"pieces": 4, "largest": 0.4}), (None, {})]),
]
PUSHED = [lost("reranking", [("reranking", {"rank": 2, "reranked": 13})])]
NOT_SAID = [lost("generation", declined=True), lost("generation", declined=False)]
FAILED = [lost(None, error=Failure(stage="generation", reason="429 Too Many Requests"))]
UNANSWERABLE = [*[lost("none")] * 4, lost(None, answer="Perhaps.", declined=False)]


@pytest.mark.parametrize(
    ("outcomes", "cell", "mends", "said", "setting"),
    [
        (
            CUT,
            {},
            (2, 4),
            "cut it into 3 pieces (median); the largest holds 50\u00a0%.",
            "chunkers:\n  - fixed: {size: 120}",
        ),
        (
            PUSHED,
            {"reranker": "bi_encoder"},
            (1, 4),
            "(rank 2 before, rank 13 after; medians)",
            "context: {chunks: 15, tokens: 1500}",
        ),
        (
            [lost("context", [("context", {"cut_at": 200})])],
            {},
            (1, 4),
            "the budget of 200 tokens ended before it was whole",
            "context: {chunks: 2, tokens: 400}",
        ),
        (NOT_SAID, {"copies": True}, (2, 4), "1 of 2 declined", "generators:"),
        (
            FAILED,
            {},
            (1, 4),
            "1 question got no answer. The first failed at generation: 429 Too Many Requests",
            "",
        ),
        (UNANSWERABLE, {}, (1, 1), "Nothing in the corpus answers these 1 questions", ""),
    ],
    ids=["chunking", "reranking", "context", "generation", "failed", "unanswerable"],
)
def test_what_a_stage_lost_wants_another_setting(stored, outcomes, cell, mends, said, setting):
    (found,) = advised(stored, *outcomes, **cell)

    assert (found.mends, found.of) == mends
    assert said in found.text
    assert found.setting.startswith(setting)
    assert found.questions[0] in stored.questions


def test_evidence_just_below_the_cut_and_far_down_are_two_things(stored):
    sent = stored.run.config["resolved"]["context"]["chunks"]
    near, far = 4 * sent, 4 * sent + 1
    found = advised(
        stored,
        lost("retrieval", [("retrieval", {"exact_rank": far})]),
        lost("retrieval", [("retrieval", {"exact_rank": None}), ("retrieval", {"exact_rank": 3})]),
        lost("retrieval", [("retrieval", {"exact_rank": near})]),
    )

    assert [(each.mends, each.title[:17]) for each in found] == [
        (2, "Search by meaning"),
        (1, "Add a reranker, o"),
    ]
    assert f"whole at rank {far} to {far}, for 1 of them at no rank" in found[0].text
    assert f"whole at rank {near} to {near} under exact search" in found[1].text
    assert f"where the first {sent} are used" in found[1].text


def test_what_could_mend_most_comes_first(stored):
    found = advised(
        stored, lost("context", [("context", {})]), lost("generation"), lost("generation")
    )
    assert [each.mends for each in found] == [2, 1]


def scored(tmp_path, labels, **values):
    """Return the advice of a run judged by `labels`, its metrics given these values."""
    names = [name.replace("_at_", "@") for name in values]
    made = project(
        tmp_path, labels=labels, metrics=names, chunkers=["markdown"], retrievers=["bm25"]
    )
    run = reader.load(api.run(runner.prepare(load(made, [], {})), lambda *_: None).folder)
    records = []
    for at, record in enumerate(run.records):
        lines = {
            name: replace(record.scores[name], value=row[at], state="scored")
            for name, row in zip(names, values.values(), strict=True)
            if at < len(row)
        }
        records.append(
            replace(record, scores={**record.scores, **lines}, lost_at=None, passages=[])
        )
    (line,) = run.run.cells
    stored_run = replace(run.run, cells=[replace(line, losses=None)])
    view = View(reader.StoredRun(run.folder, stored_run, tuple(records), run.questions, run.texts))
    return [piece for piece in advice(view, view.cells[0]) if piece.stage != "failed"]


def test_with_documents_alone_what_is_found_late_wants_order_and_what_is_not_wants_recall(tmp_path):
    found = scored(tmp_path, "documents", hit_rate_at_2=[1, 1, 1, 0], mrr=[0.5, 0.25, 1, 0])

    late, missed = (piece for piece in found if "hit_rate" in piece.text)
    assert (late.mends, late.of, late.stage) == (2, 4, "reranking")
    assert late.title == "Improve the order: rerank"
    assert "for 2 of 4 questions" in late.text
    assert (missed.mends, missed.of, missed.stage) == (1, 4, "retrieval")
    assert "This is recall" in missed.text
    assert "retrieve: " in missed.setting


def test_with_keywords_alone_a_part_that_is_found_wants_more_results(tmp_path):
    found = scored(tmp_path, "keywords", keyword_recall_at_2=[1, 0.5, 0.5, 0.5])

    assert [(piece.mends, piece.title) for piece in found if "keyword_recall" in piece.text] == [
        (3, "Read more results, or larger chunks")
    ]


def test_with_answers_alone_evidence_is_asked_for(tmp_path):
    found = scored(tmp_path, "evidence", token_f1=[0.9, 0.2, 0.1, 0.8])

    (piece,) = (piece for piece in found if "token_f1" in piece.text)
    assert (piece.mends, piece.title) == (2, "Label the evidence of these questions")
