"""Batches of questions: the next is asked for while the last answers of one are awaited."""

import json
import threading

import pytest

from harness.errors import RunError
from harness.runs import loop
from harness.store import reader
from tests.support.chat_server import completion
from tests.support.loopback import Handler, listening
from tests.support.small import QUESTIONS, stored

ASKED = [
    {**each, "id": f"{each['id']}-{at}", "question": f"{each['question']} ({at})"}
    for at in range(4)
    for each in QUESTIONS[:3]
]
BATCH = 3
HELD = f"Question: {ASKED[0]['question']}\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return what runs the project, asking a server at `url` so many at once, in small batches."""
    monkeypatch.setattr(loop, "BATCH_QUESTIONS", BATCH)

    def run(url, concurrent, **parts):
        model = {"model": "openai:m", "base_url": f"{url}/v1", "concurrent": concurrent}
        return stored(
            tmp_path,
            questions=parts.pop("questions", ASKED),
            chunkers=["markdown"],
            retrievers=parts.pop("retrievers", ["bm25"]),
            generators=[{"chat": {**model, "retries": 0}}],
            **parts,
        )

    return run


class Holding(Handler):
    """Answers the first question only once so many others were asked; keeps what it was asked."""

    others = 0
    asked: list
    released: threading.Event

    def do_POST(self):
        prompt = self.body()["messages"][-1]["content"]
        self.asked.append(prompt)
        if ASKED[0]["question"] in prompt:
            assert self.released.wait(10)
        elif len(self.asked) > self.others:
            self.released.set()
        self.send(200, json.dumps(completion("14 years old")).encode())


def holding(others):
    return type("Held", (Holding,), {"others": others, "asked": [], "released": threading.Event()})


def test_one_slow_answer_holds_up_no_other_and_records_stay_in_order(project):
    server = holding(len(ASKED) - 1)
    with listening(server) as url:
        run = project(url, 2)
    assert [each.question for each in run.records] == [each["id"] for each in ASKED]
    assert run.run.cells[0].failed == 0
    assert len(server.asked) == len(ASKED)


def test_no_more_than_a_few_batches_are_begun(project, monkeypatch):
    monkeypatch.setattr(loop, "_MAX_OPEN_BATCHES", 2)
    server = holding(2 * BATCH - 1)  # all of two batches but the slow one
    with listening(server) as url:
        run = project(url, 2)
    assert len(run.records) == len(ASKED)
    assert all(f"({at})" in each for at in (0, 1) for each in server.asked[at * 3 : at * 3 + 3])


def test_the_same_question_in_the_next_batch_is_not_asked_again(project):
    twice = [*ASKED[:3], {**ASKED[0], "id": "again"}, *ASKED[3:5]]
    server = holding(4)
    with listening(server) as url:
        run = project(url, 2, questions=twice)
    assert len(server.asked) == len(twice) - 1
    answers = {each.question: each.answer for each in run.records}
    assert answers["again"] == answers[ASKED[0]["id"]] == "14 years old"


def test_too_many_failures_end_it_with_what_was_answered_of_each_batch(project, tmp_path):
    class Refusing(Handler):
        def do_POST(self):
            prompt = self.body()["messages"][-1]["content"]
            bad = "(2)" in prompt
            self.send(400 if bad else 200, json.dumps(completion("14 years old")).encode())

    with listening(Refusing) as url, pytest.raises(RunError, match=r"1 of \d+ questions failed"):
        project(url, 2, max_failures=0)
    (folder,) = (each for each in (tmp_path / "reports").iterdir() if each.is_dir())
    ids = [each.question for each in reader.load(folder).records]
    assert ids == [each["id"] for each in ASKED if each["id"] in ids]
    assert len(ids) > BATCH
    assert sum("-2" in each for each in ids) >= 1


def test_questions_whose_retrieval_failed_end_it_before_another_batch_is_retrieved(project):
    asked = []

    class Refusing(Handler):
        def do_POST(self):
            asked.append(self.body()["messages"][-1]["content"])
            self.send(400, b"{}")

    with listening(Refusing) as url:
        chat = {"model": "openai:m", "base_url": f"{url}/v1", "retries": 0}
        parts = {"retrievers": ["multi_query(of=bm25)"], "chat": chat, "max_failures": 1}
        with pytest.raises(RunError, match=r"2 of \d+ questions failed"):
            project(url, 2, **parts)
    questions = [each["question"] for each in ASKED if any(each["question"] in a for a in asked)]
    assert questions == [each["question"] for each in ASKED[:BATCH]]
