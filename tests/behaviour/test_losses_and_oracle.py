"""Where answers are lost, each loss planted by hand; and what perfect retrieval could buy."""

import json
import re
from pathlib import Path

import pytest

from tests.behaviour.golden import check_numbers, run_folder, run_numbers
from tests.behaviour.servers import rows, serving

SENTENCES = {
    "split": "The split valley has, beside its long and winding river, many old mills: forty one.",
    "deep": "Its keeper is called Ada.",
    "cut": "The cut harbour is ruled by Eve.",
    "asked": "The asked tower has nine bells.",
    "fine": "The fine bridge has six arches.",
}
QUESTIONS = {
    "split": ("How many mills has the split valley?", "forty one"),
    "deep": ("What does a zeppelin weigh?", "Ada"),
    "cut": ("Who rules the cut harbour?", "Eve"),
    "asked": ("How many bells has the asked tower?", "nine"),
    "fine": ("How many arches has the fine bridge?", "six"),
}


def reader(prompt):
    """Say the answer to a question where the prompt has it, and one answer wrong."""
    for name, (question, answer) in QUESTIONS.items():
        if question in prompt:
            context = prompt.split("Context:")[1].split("Question:")[0]
            if name == "asked" and answer in context:
                return "It has three bells."
            return f"It is {answer}." if answer in context else "I don't know."
    return "I don't know."


@pytest.fixture
def planted(project):
    """Return a project in which each question is lost at the stage that is planted for it.

    Chunks are 60 characters: the evidence of `split` is longer. That of `deep` shares no word with
    its question. That of `cut` stands behind so many words that the context ends before it. Of
    `asked` the generator says something else.
    """
    for path in (project.folder / "corpus").iterdir():
        path.unlink()
    lines = []
    for name, sentence in SENTENCES.items():
        project.document(f"{name}.md", f"{sentence}\n")
        question, answer = QUESTIONS[name]
        lines.append(
            {
                "id": name,
                "question": question,
                "answers": [answer],
                "keywords": [answer],
                "evidence": [{"doc": f"{name}.md", "quote": sentence}],
                "category": "lost" if name != "fine" else "kept",
            }
        )
    lines.append({"id": "none", "question": "Who sings?", "answerable": False})
    project.testset(*lines)
    with serving(reader) as chat:
        project.config(
            chat=chat.settings("reader"),
            chunkers=[{"fixed": {"size": 60}}],
            retrievers=["bm25"],
            generators=["chat"],
            retrieve=2,
            context={"chunks": 1, "tokens": 200},
            metrics=["passage_recall@1", "evidence_recall@1", "evidence_ceiling@1", "token_f1"],
        )
        yield chat


def ran(cli, *options):
    said = cli("run", "config.yaml", *options)
    assert said.status == 0, said.err
    folder = run_folder(Path.cwd())
    return said, folder, {row["question"]: row for row in rows(folder / "records.jsonl")}


def lost(records):
    return {name: record["lost_at"] for name, record in records.items()}


EXPECTED = {
    "split": "chunking",
    "deep": "retrieval",
    "cut": "none",
    "asked": "generation",
    "fine": "none",
    "none": None,
}


def test_each_planted_loss_is_found_at_its_stage(planted, project, cli):
    _, folder, records = ran(cli)
    text = (folder / "report.md").read_text("utf-8")

    assert lost(records) == EXPECTED
    assert "## Where answers are lost" in text
    check_numbers("losses", run_numbers(folder))


def test_a_context_that_is_too_short_loses_what_it_cuts(planted, cli):
    _, _, records = ran(cli, "--set", "context.tokens=5")

    # Five words of `cut` end before its answer, and those of `fine` with it.
    assert lost(records) == EXPECTED | {"cut": "context", "asked": "context"}


def test_a_reranker_that_drops_a_piece_of_the_evidence_loses_it(planted, cli):
    reranker = {"bi_encoder": {"embedder": "hashing(dimensions=64)", "keep": 1}}
    _, folder, records = ran(cli, "--set", f"rerankers={json.dumps([reranker])}")

    # Two chunks were retrieved, which together hold `split` whole, and one of them is kept.
    assert lost(records) == EXPECTED | {"split": "reranking"}
    assert [hit["doc"] for hit in records["split"]["hits"]] == ["split.md"]
    check_numbers("losses_reranked", run_numbers(folder))


def test_without_a_generator_what_arrives_is_delivered(planted, cli):
    _, _, records = ran(cli, "--set", "generators=[none]", "--set", "metrics=[passage_recall@1]")

    assert lost(records) == EXPECTED | {"asked": "none"}


def test_what_was_missed_has_its_true_rank_and_the_answer_its_sentence(planted, project, cli):
    _, _, records = ran(
        cli,
        *("--set", "retrievers=[dense]", "--set", "index={exact: true}", "--set", "retrieve=1"),
    )
    missed = {id_: record["missed"] for id_, record in records.items() if "missed" in record}
    fine = records["fine"]
    _, _, ranked = ran(
        cli,
        *("--set", "retrievers=[dense]", "--set", "index={exact: true}", "--set", "retrieve=20"),
    )

    assert "deep" in missed
    for name, chunks in missed.items():
        places = [(hit["doc"], hit["start"]) for hit in ranked[name]["hits"]]
        for chunk in chunks:
            assert chunk["doc"] == f"{name}.md"
            # The rank is that of a search which goes on.
            assert chunk["rank"] == places.index((chunk["doc"], chunk["start"])) + 1 > 1
    assert fine["held_in"] == {"doc": "fine.md", "start": 0, "end": len(SENTENCES["fine"])}


def test_losses_are_counted_by_cell_and_segment_in_the_report(planted, cli):
    _, folder, _ = ran(cli)
    text = (folder / "report.md").read_text("utf-8")
    told = text.partition("## Where answers are lost")[2].partition("\n## ")[0]
    segments = text.partition("## By segment")[2].partition("\n## ")[0]

    for stage in ("chunking", "retrieval", "generation"):
        assert stage in told
    assert "| **Category** |" in segments
    assert re.search(r"\| kept † \| 1 \|", segments)
    assert re.search(r"\| lost † \| 4 \|", segments)


def test_groups_of_evidence_are_followed_from_stage_to_stage(planted, cli):
    _, folder, _ = ran(cli)
    text = (folder / "report.md").read_text("utf-8")
    table = text.partition("**Groups of passages after each step, and questions**")[2]
    lines = [line.split(" | ") for line in table.partition("\n\n**")[0].splitlines() if "%" in line]
    steps = {line[0].strip("| "): (line[1], line[3].strip("| ")) for line in lines}

    # Of five one is cut, one is not found, and of one the answer is wrong.
    assert steps == {
        "Step": ("Left", "Lost here"),
        "All evidence": ("5", "–"),
        "Not lost to chunking": ("4", "1, chunking"),
        "Retrieved": ("3", "1, retrieval"),
        "In the prompt": ("3", "–"),
        "Question answered": ("2", "1, generation"),
        "Questions answered": ("2", "–"),
    }


def test_advice_names_what_to_try_and_how_many_questions_it_could_mend(planted, cli):
    _, folder, _ = ran(cli)
    text = (folder / "report.md").read_text("utf-8")
    told = text.partition("## What to try")[2].partition("\n## ")[0]

    assert "1 of 5 questions at most, lost at chunking" in told
    assert "1 of 5 questions at most, lost at retrieval" in told


def test_the_oracle_says_what_better_retrieval_could_buy(planted, cli):
    said, folder, records = ran(cli, "--oracle", "--set", "decide_by=token_f1")
    run = json.loads((folder / "run.json").read_text("utf-8"))
    text = (folder / "report.md").read_text("utf-8")
    told = text.partition("## What better retrieval could buy")[2].partition("\n## ")[0]
    lines = rows(folder / "oracle.jsonl")
    contexts = {row["question"]: row["context"] for row in lines if row["given"] == "evidence"}
    whole, nothing = sorted(run["oracle"], key=lambda part: part["given"])

    assert contexts == SENTENCES | {"none": None}
    # With the evidence all but `asked` are right; with nothing the model knows nothing.
    assert (whole["given"], whole["right"], whole["tested"]) == ("evidence", 4, 5)
    assert (nothing["given"], nothing["right"], nothing["tested"]) == ("nothing", 0, 5)
    assert "token_f1" in said.out
    assert "with the gold passages alone" in " ".join(said.out.split())
    assert "Perfect retrieval, the gold passages alone" in told
    # The larger chunk of `split` holds that share of its characters; of the others, all.
    (ceiling,) = run["ceilings"]
    assert ceiling["k"] == 1
    split = SENTENCES["split"]
    hits = [hit for hit in records["split"]["hits"] if hit["doc"] == "split.md"]
    largest = max(hit["end"] - hit["start"] for hit in hits) / len(split)
    assert 0.5 < largest < 0.95
    assert ceiling["evidence_recall"]["mean"] == pytest.approx((4 + largest) / 5)
    check_numbers(
        "oracle",
        {
            "cells": run_numbers(folder),
            "oracle": [
                {name: [score["mean"], score["n"]] for name, score in part["scores"].items()}
                for part in (whole, nothing)
            ],
        },
    )


def test_a_question_that_is_answered_from_nothing_is_said_to_be_memory(planted, cli):
    planted.says = lambda prompt: "It is six." if "the fine bridge" in prompt else reader(prompt)
    _, folder, _ = ran(cli, "--oracle")
    text = (folder / "report.md").read_text("utf-8")

    assert "1 question is answered right from nothing" in text
    assert "(fine)" in text


def test_an_oracle_of_no_generator_is_refused(project, refused):
    project.config(generators=["none"], metrics=["passage_recall@2"])
    message = "\n".join(refused("--oracle"))

    assert "`oracle` asks the generators, and none gives answers" in message


def test_scoring_again_scores_the_oracle_too(planted, cli):
    _, folder, _ = ran(cli, "--oracle")
    asked = len(planted.requests)
    said = cli("score", folder, "-m", "exact_match")
    lines = [row for row in rows(folder / "oracle.jsonl") if row["answer"] is not None]

    assert said.status == 0, said.err
    assert len(planted.requests) == asked
    assert {name for row in lines for name in row["scores"]} == {"exact_match"}
