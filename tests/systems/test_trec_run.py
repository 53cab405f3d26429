"""Rankings and answers in files as a system under test."""

import json

import pytest

from harness.errors import DataError, StageError
from harness.systems import systems
from harness.systems.reply import RetrievedText, SystemReply


def failure(call):
    with pytest.raises(StageError) as caught:
        call()
    return str(caught.value)


def trec(folder, run, answers=None):
    (folder / "my.run").write_text(run)
    given = {"path": str(folder / "my.run")}
    if answers is not None:
        (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
        given["answers"] = str(folder / "answers.jsonl")
    return systems.build({"trec_run": given})


def test_a_run_ranks_documents_by_score_and_then_by_id(tmp_path):
    system = trec(tmp_path, "q1 Q0 a 1 0.5 x\nq1 Q0 c 2 0.5 x\nq1 Q0 b 3 0.75 x\n")
    system.check()

    ranked = system.ask("q1", "any")
    assert [(each.ids, each.score) for each in ranked.contexts] == [
        (("b",), 0.75),
        (("c",), 0.5),
        (("a",), 0.5),
    ]
    assert (ranked.answer, ranked.lacking) == (None, None)
    assert (system.shown, system.tells_answers) == ("trec_run(my.run)", False)
    assert failure(lambda: system.ask("q2", "any")) == "missing from my.run"


def test_answers_come_from_a_file_beside_the_run(tmp_path):
    rows = [{"id": "q1", "answer": "x", "contexts": ["a", "b"], "tokens_out": 3}]
    system = trec(tmp_path, "q1 a 1\nq2 a 1\n", [*rows, {"id": 2, "answer": None}])
    system.check()
    contexts = (RetrievedText("", ("a",), score=1.0),)

    assert system.ask("q1", "") == SystemReply(contexts, "x", sent="a\n\nb", tokens_out=3)
    assert system.ask("q2", "") == SystemReply(contexts, lacking="missing from answers.jsonl")


def test_a_file_of_answers_with_errors_is_refused_with_all_of_them(tmp_path):
    rows = [{"id": "a", "answer": 1}, {"answer": "x"}, {"id": "b"}, {"id": "c", "answer": "x"}]
    with pytest.raises(DataError) as caught:
        trec(tmp_path, "q1 a 1\n", [*rows, rows[-1]]).check()

    assert [(each.where, each.what) for each in caught.value.problems] == [
        ("line 1", "answer is 1: Input should be a valid string"),
        ("line 2", "the id is None"),
        ("line 3", "the reply has neither 'contexts' nor 'answer': it holds 'id'"),
        ("line 5", "the id 'c' is taken"),
    ]


def test_another_text_of_its_files_is_another_system(tmp_path):
    one = trec(tmp_path, "q1 a 1\n").identity()

    assert trec(tmp_path, "q1 b 1\n").identity() != one
    assert trec(tmp_path, "q1 a 1\n", []).identity() != one
    assert trec(tmp_path, "q1 a 1\n").identity() == one
