"""Components that ask a chat model: the generator `chat`, and retrievers that reword questions."""

import json
import time
from pathlib import Path

import pytest

from tests.behaviour.golden import check_numbers, run_folder, run_numbers
from tests.behaviour.servers import rows, serving

MOON, MARS, HAMLET = "How far away is the Moon?", "Which moons does Mars have?", "Who wrote Hamlet?"
ANSWERS = {MOON: "384,400 km", MARS: "Phobos alone", HAMLET: "I don't know."}


def answer(prompt):
    """Answer the question of a prompt."""
    return next(text for question, text in ANSWERS.items() if question in prompt)


@pytest.fixture
def chat(project):
    with serving(answer) as server:
        project.config(chat=server.settings("writer"), generators=["chat"])
        yield server


def ran(project, cli, *options):
    """Run; return run.json and the records by question, of the only cell."""
    said = cli("run", "config.yaml", *options)
    assert said.status == 0, said.err
    folder = run_folder(project.folder)
    records = {row["question"]: row for row in rows(folder / "records.jsonl")}
    return json.loads((folder / "run.json").read_text("utf-8")), records


def test_a_chat_model_answers_from_the_context_and_says_what_it_does_not_know(project, chat, cli):
    run, records = ran(project, cli)
    (cell,) = run["cells"]

    assert {id_: row["answer"] for id_, row in records.items()} == {
        "q1": "384,400 km",
        "q2": "Phobos alone",
        "q3": "I don't know.",
    }
    assert [row["declined"] for row in records.values()] == [False, False, True]
    # One of two words is said, and it is one of the reference's three: 2 × 1 / (2 + 3).
    assert records["q2"]["scores"]["token_f1"]["value"] == pytest.approx(2 / 5)
    assert cell["scores"]["token_f1"]["mean"] == pytest.approx((1 + 2 / 5) / 2)
    assert cell["scores"]["abstention"]["mean"] == 1.0
    assert {id_: row["lost_at"] for id_, row in records.items()} == {
        "q1": "none",
        "q2": "generation",
        "q3": None,
    }
    check_numbers("chat_run", run_numbers(run_folder(project.folder)))


def test_the_prompt_as_sent_and_what_it_took_are_in_the_record(project, chat, cli):
    _, records = ran(project, cli)

    before, after = records["q1"]["prompt"]  # and between them the context
    (sent,) = [prompt for prompt in chat.prompts if MOON in prompt]
    assert sent.startswith(before)
    assert sent.endswith(after)
    assert after == f"\n\nQuestion: {MOON}\nAnswer:"
    hits, characters = records["q1"]["context"].values()
    assert (hits, characters) == (len(records["q1"]["hits"]), len(sent) - len(before + after) - 79)
    assert records["q1"]["usage"]["tokens_in"] == 57
    assert records["q1"]["usage"]["tokens_out"] == 9


def test_a_prompt_file_has_places_for_context_and_question(project, chat, cli):
    Path("strict.txt").write_text("Be brief {{sic}}.\n{context}\nAsked: {question}", "utf-8")
    _, records = ran(project, cli, "--set", "generators=[{chat: {prompt: strict.txt}}]")
    own = records["q2"]

    assert own["prompt"] == ["Be brief {sic}.\n", f"\nAsked: {MARS}"]
    assert all(prompt.startswith("Be brief {sic}.\n#") for prompt in chat.prompts)
    assert len(chat.prompts) == len(records)


def test_a_prompt_without_its_places_or_its_file_is_refused(project, chat, refused):
    Path("poor.txt").write_text("Say something of {topic}.", "utf-8")
    poor = "\n".join(refused("--set", "generators=[{chat: {prompt: poor.txt}}]"))
    none = "\n".join(refused("--set", "generators=[{chat: {prompt: none.txt}}]"))

    assert "topic" in poor
    assert "none.txt" in none
    assert chat.requests == []


def test_repeat_asks_with_seeds_that_follow_and_scores_are_means_over_samples(project, chat, cli):
    turns = {7: "384,400 km", 8: "far away", 9: "384,400 km"}
    chat.says = lambda prompt: (
        turns[chat.requests[-1]["seed"]] if MOON in prompt else answer(prompt)
    )
    generator = "generators=[{chat: {repeat: 3, temperature: 0.7, concurrent: 1}}]"
    run, records = ran(project, cli, "--set", generator)
    seeds = [each["seed"] for each in chat.requests if MOON in each["messages"][-1]["content"]]

    assert sorted(seeds) == [7, 8, 9]
    assert {each["temperature"] for each in chat.requests} == {0.7}
    assert [sample["answer"] for sample in records["q1"]["samples"]] == [*turns.values()]
    assert records["q1"]["scores"]["token_f1"]["value"] == pytest.approx(2 / 3)
    assert run["cells"][0]["scores"]["token_f1"]["mean"] == pytest.approx((2 / 3 + 2 / 5) / 2)


def test_repeat_without_a_temperature_is_refused(project, chat, refused):
    message = "\n".join(refused("--set", "generators=[{chat: {repeat: 3}}]"))

    assert "temperature" in message


def test_a_question_that_the_server_refuses_is_recorded_as_failed_and_counts_as_0(
    project, chat, cli
):
    chat.says = lambda prompt: (400, "too long") if MOON in prompt else answer(prompt)
    run, records = ran(project, cli, "--set", "max_failures=1", "--set", "chat.retries=3")
    score = run["cells"][0]["scores"]["token_f1"]

    assert records["q1"]["error"]["stage"] == "generation"
    assert "too long" in records["q1"]["error"]["reason"]
    assert records["q1"]["answer"] is None
    assert (score["mean"], score["n"], score["failed"]) == (pytest.approx((0 + 2 / 5) / 2), 2, 1)
    assert len(chat.requests) == 3


def test_a_failed_question_is_asked_again_by_the_next_run_and_no_other(project, chat, cli):
    chat.says = lambda prompt: (500, "broken") if MOON in prompt else answer(prompt)
    ran(project, cli, "--set", "max_failures=1")
    before = len(chat.requests)
    chat.says = answer
    _, records = ran(project, cli, "--set", "max_failures=1")

    assert len(chat.requests) == before + 1
    assert records["q1"]["answer"] == "384,400 km"


def test_no_more_than_concurrent_are_asked_at_once_by_cells_and_judge_together(project, chat, cli):
    def says(prompt):
        time.sleep(0.03)  # one request too many has time to come
        return answer(prompt) if prompt.startswith("Answer") else "3"

    chat.says = says
    rows_ = [{"question": f"{MOON} {number}", "answers": ["384,400 km"]} for number in range(8)]
    project.testset(*rows_)
    writer, judge = (chat.settings(name, concurrent=2) for name in ("writer", "judge"))
    project.config(chat=writer, judge=judge, retrievers=["dense", "bm25"], metrics=["correctness"])
    ran(project, cli)

    assert chat.most == 2


SEARCHED = {
    "multi_query": ("1. the distance\n2. Phobos", ["the distance", "Phobos"]),
    "decompose": ("How far is it?\nWhat is the Moon?", ["How far is it?", "What is the Moon?"]),
    "hyde": ("Mars has two moons.", ["Mars has two moons."]),
}


@pytest.mark.parametrize("retriever", SEARCHED)
def test_a_retriever_searches_for_what_the_model_said_and_records_it(project, chat, cli, retriever):
    reply, texts = SEARCHED[retriever]
    chat.says = lambda prompt: reply
    project.config(retrievers=[{retriever: {"of": "dense"}}], index={"exact": True})
    project.config(generators=["none"], metrics=["passage_recall@1"])
    _, records = ran(project, cli)

    assert len(chat.requests) == 3
    # Other wordings are searched for beside the question, other texts in its place.
    assert records["q1"]["searched"] == [MOON] * (retriever == "multi_query") + texts
    check_numbers(f"asked_{retriever}", run_numbers(run_folder(project.folder)))


def test_a_reply_that_is_of_no_use_is_the_question_s_own_failure(project, chat, cli):
    chat.says = lambda prompt: " \n" if MOON in prompt else "the moons"
    project.config(retrievers=[{"multi_query": {"of": "dense"}}], max_failures=1)
    project.config(generators=["none"], metrics=["passage_recall@2"])
    _, records = ran(project, cli)

    assert records["q1"]["error"]["stage"] == "retrieval"
    assert records["q1"]["hits"] == []
    assert records["q2"]["error"] is None


@pytest.mark.parametrize("retriever", SEARCHED)
def test_a_retriever_that_asks_a_model_is_refused_without_one(project, refused, retriever):
    project.config(retrievers=[retriever])
    message = "\n".join(refused())

    assert f"retriever '{retriever}' needs a chat model" in message
