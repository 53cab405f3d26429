"""Options of `run`, and what a second run, an edit and a new metric cost."""

import json

import chromadb
import pytest

from tests.behaviour import harbour
from tests.behaviour.golden import check_numbers, run_folder, run_numbers
from tests.behaviour.servers import rows, serving

EMBEDDINGS = """
from pathlib import Path

from langchain_core.embeddings import Embeddings

WORDS = ("day", "pass", "docks", "station", "riders", "helmets", "bicycle", "late", "cost")

class Counted(Embeddings):
    def embed_documents(self, texts):
        with Path("embedded.txt").open("a") as file:
            file.writelines(f"{text!r}\\n" for text in texts)
        return [[text.lower().count(word) + 0.01 for word in WORDS] for text in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    harbour.write(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder, cli):
    """Return a function that gives the command, and returns what was stored."""

    def call(*arguments):
        said = cli("run", "config.yaml", *arguments)
        assert said.status == 0, said.err
        return run_folder(folder)

    return call


def asked(stored) -> list[str]:
    """Return the ids of the questions of a stored run."""
    return [row["id"] for row in rows(stored / "questions.jsonl")]


def content(stored) -> dict:
    return json.loads((stored / "run.json").read_text("utf-8"))


def made(stored) -> dict[str, int]:
    """Return how many of each kind a run has made, rather than found in the cache."""
    return {kind: counts["made"] for kind, counts in content(stored)["cache"].items()}


def test_a_limit_asks_the_first_questions(run):
    assert asked(run("--limit", 2)) == ["day", "docks"]


def test_a_sample_by_a_number_asks_the_same_questions_every_day(run):
    first = run("--sample", 3, "--sample-seed", 5)
    second = run("--sample", 3, "--sample-seed", 5, "--fresh")
    other = run("--sample", 3, "--sample-seed", 6)
    assert asked(first) == asked(second) == ["day", "helmet", "ceo"]
    assert asked(other) == ["helmet", "late", "ceo"]
    assert asked(run("--limit", 2, "--sample", 1, "--sample-seed", 5)) == ["day"]
    assert asked(run("--sample", 9, "--sample-seed", 5)) == [q["id"] for q in harbour.QUESTIONS]


def test_a_sample_by_date_has_so_many_questions_and_says_of_which_day(run):
    stored = content(run("--sample", 2, "--sample-seed", "date"))
    assert stored["sample"]["of"] == 6
    assert stored["sample"]["day"] == stored["started"][:10]


def test_the_same_command_again_makes_nothing_and_fresh_makes_all(run):
    first = run()
    numbers = run_numbers(first)
    again = run()
    assert again != first
    assert set(made(again).values()) == {0}
    assert run_numbers(again) == numbers
    fresh = run("--fresh")
    assert made(fresh) == made(first)
    assert (made(fresh)["rankings"], made(fresh)["answers"]) == (6, 6)
    assert run_numbers(fresh) == numbers


def test_after_an_edit_of_one_document_only_its_new_chunks_are_embedded(run, folder):
    (folder / "counted_texts.py").write_text(EMBEDDINGS, "utf-8")
    harbour.write(folder, embedders=[{"langchain": {"cls": "counted_texts:Counted"}}])
    run()
    texts = (folder / "embedded.txt").read_text("utf-8").splitlines()
    (folder / "embedded.txt").unlink()
    documents = json.loads(json.dumps(harbour.DOCUMENTS))
    documents[3]["text"] += "\nNobody knows who paid that.\n"
    (folder / "corpus.jsonl").write_text(harbour.rows(documents), "utf-8")
    run()
    assert len(texts) == 10 + 6
    again = (folder / "embedded.txt").read_text("utf-8").splitlines()
    assert len(again) == 1
    assert "Nobody knows" in again[0]


def test_a_new_metric_asks_no_model_and_a_new_context_does(run, folder):
    with serving(lambda prompt: "6 dollars") as chat:
        harbour.write(folder, chat=chat.settings("served"), generators=["chat"])
        run()
        assert len(chat.requests) == 6
        run("--set", "metrics=[exact_match, rougeL]")
        assert len(chat.requests) == 6
        run("--set", "context={chunks: 1}")
        assert len(chat.requests) == 12
        run("--limit", 3, "--fresh")
        assert len(chat.requests) == 15


def test_the_command_line_wins_over_the_environment_which_wins_over_the_file(run, monkeypatch):
    monkeypatch.setenv("HARNESS_RETRIEVE", "3")
    assert content(run())["config"]["resolved"]["retrieve"] == 3
    assert content(run("--set", "retrieve=2"))["config"]["resolved"]["retrieve"] == 2


def test_the_oracle_asks_with_perfect_retrieval_and_with_none(run):
    stored = run("--oracle")
    lines = rows(stored / "oracle.jsonl")
    assert len(lines) == 2 * 6
    kinds = {"evidence", "nothing"}
    answers = {next(kind for kind in kinds if kind in line.values()): {} for line in lines}
    for line in lines:
        kind = next(kind for kind in kinds if kind in line.values())
        answers[kind][line["question"]] = line["answer"]
    assert answers["evidence"]["day"] == "A day pass costs 6 dollars."
    assert not answers["nothing"]["day"]
    assert not (run() / "oracle.jsonl").exists()


@pytest.mark.parametrize("exact", [True, False])
def test_an_index_finds_what_an_exact_search_finds_and_says_so(run, exact):
    stored = run("--set", f"index={{exact: {str(exact).lower()}, ef_search: 200}}")
    (cell,) = content(stored)["cells"]
    assert (cell["index_recall"] is None) or cell["index_recall"]["mean"] == 1.0
    check_numbers("index_exact", run_numbers(stored), 1e-6)


def test_a_collection_that_is_there_is_searched_as_it_stands_and_not_changed(run, folder):
    (folder / "counted.py").write_text(EMBEDDINGS, "utf-8")
    names: dict = {}
    exec(EMBEDDINGS, names)
    quiet = chromadb.config.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(folder / "db"), settings=quiet)
    collection = client.create_collection("handbook", embedding_function=None)
    records = []
    for document in harbour.DOCUMENTS:
        for line in filter(str.strip, document["text"].split("\n")):
            records.append((line, {"doc": document["id"], "at": document["text"].index(line)}))
    records.append(("This stands nowhere in the corpus, not a word of it.", {"doc": "lost"}))
    collection.add(
        ids=[str(number) for number in range(len(records))],
        documents=[text for text, _ in records],
        metadatas=[about for _, about in records],
        embeddings=names["Counted"]().embed_documents([text for text, _ in records]),
    )
    client.close()
    before = {path: path.read_bytes() for path in (folder / "db").rglob("*") if path.is_file()}
    existing = {"collection": "handbook", "path": "db", "doc": "doc", "start": "at"}
    harbour.write(
        folder,
        chunkers=None,
        embedders=[{"langchain": {"cls": "counted:Counted"}}],
        retrievers=["dense", "bm25", {"filtered": {"where": {"doc": "rules"}}}],
        index={"existing": existing},
    )
    stored = run()
    cells = content(stored)["cells"]
    assert {cell["chunks"] for cell in cells} == {len(records)}
    assert cells[0]["matched"]["unmatched"] == 1
    numbers = run_numbers(stored)
    day = next(row for row in numbers["records"] if row[1] == "day")
    assert day[4][0] == ["old-fares", 13, 69]
    check_numbers("existing_collection", numbers, 1e-6)
    after = {path: path.read_bytes() for path in (folder / "db").rglob("*") if path.is_file()}
    assert after == before


def test_the_cache_is_listed_and_gives_room_and_the_next_run_makes_it_again(run, cli):
    numbers = run_numbers(run())
    listing = cli("cache", "ls")
    assert listing.status == 0
    assert "rankings" in listing.out
    assert cli("cache", "gc", "--max-size", "1KB", "--dry-run").status == 0
    assert set(made(run()).values()) == {0}
    assert cli("cache", "gc", "--max-size", "1KB").status == 0
    again = run()
    assert made(again)["answers"] == 6
    assert run_numbers(again) == numbers
