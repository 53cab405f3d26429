"""Corpora: converted files, tables, metadata to filter by, and what is left out or skipped."""

import json
import re

import pytest

from tests.behaviour import harbour
from tests.behaviour.golden import check_numbers, run_folder, run_numbers
from tests.behaviour.servers import rows
from tests.support.office import docx, pdf, slides

HTML = b"""<html><head><title>Helmets</title><script>alert(1)</script></head><body>
<h1>Helmets</h1><p>A helmet weighs 300 grams.</p><ul><li>red</li><li>blue</li></ul></body></html>"""
FILES = {
    "a/fares.pdf": pdf("A day pass costs 6 dollars.", "A month pass costs 40.", author="Ann"),
    "b/rules.docx": docx("# Rules", "Riders must be 14 years old."),
    "c/talk.pptx": slides(("Stations", "The harbour station has 24 docks."), ("End", "Bye.")),
    "d/helmets.html": HTML,
    "e/faq.csv": b"question,answer\nWho repairs a bicycle?,The workshop at the hill.\n",
    "f/lines.jsonl": b'{"id": "n1", "text": "The night bus is number 7.", "title": "Night"}\n',
    "g/plain.txt": "The caf\u00e9 closes at 22:00.\r\n".encode(),
    "card.md": b"# Card\n\nThis describes the corpus, and is no part of it.\n",
    "picture.png": b"no picture",
}
ASKED = [
    ("pass", "What does a day pass cost?", "a/fares.pdf", "A day pass costs 6 dollars."),
    ("age", "How old must riders be?", "b/rules.docx", "Riders must be 14 years old."),
    ("docks", "How many docks?", "c/talk.pptx", "The harbour station has 24 docks."),
    ("weight", "What does a helmet weigh?", "d/helmets.html", "A helmet weighs 300 grams."),
    ("repair", "Who repairs a bicycle?", "e/faq.csv", "The workshop at the hill."),
    ("bus", "Which number has the night bus?", "f/lines.jsonl#n1", "The night bus is number 7."),
    ("cafe", "When does the caf\u00e9 close?", "g/plain.txt", "The caf\u00e9 closes at 22:00."),
]
QUESTIONS = [
    {"id": id_, "question": question, "evidence": [{"doc": doc, "quote": quote}]}
    for id_, question, doc, quote in ASKED
]
SETTINGS = {
    "corpus": "corpus",
    "chunkers": ["page"],
    "retrievers": ["bm25"],
    "generators": ["none"],
    "metrics": ["passage_recall@3"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Write files of all formats into a folder, and questions about them."""
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        path = tmp_path / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path


@pytest.fixture
def run(folder, cli):
    """Return a function that runs the configuration with changes, and gives folder and run."""

    def call(questions=QUESTIONS, **changes):
        harbour.write(folder, **{**SETTINGS, **changes})
        (folder / "testset.jsonl").write_text(harbour.rows(questions), "utf-8")
        said = cli("run", "config.yaml")
        assert said.status == 0, said.err
        stored = run_folder(folder)
        return stored, json.loads((stored / "run.json").read_text("utf-8"))

    return call


def hits(stored) -> dict[str, list[str]]:
    """Return the documents that each question found, in order."""
    return {row["question"]: [hit["doc"] for hit in row["hits"]]
            for row in rows(stored / "records.jsonl")}  # fmt: skip


def test_a_folder_of_all_formats_is_one_corpus_and_its_evidence_is_found(run):
    stored, content = run()
    assert {id_: found[0] for id_, found in hits(stored).items()} == {
        id_: doc for id_, _, doc, _ in ASKED
    }
    documents = {row["id"]: row for row in rows(stored / "documents.jsonl")}
    assert sorted(documents) == [
        "a/fares.pdf",
        "b/rules.docx",
        "c/talk.pptx",
        "d/helmets.html",
        "e/faq.csv",
    ]
    assert documents["a/fares.pdf"]["text"].split("\f")[1].strip() == "A month pass costs 40."
    assert documents["b/rules.docx"]["text"] == "# Rules\n\nRiders must be 14 years old."
    assert documents["d/helmets.html"]["text"].endswith("* red\n* blue")
    assert documents["d/helmets.html"]["title"] == "Helmets"
    assert "alert" not in documents["d/helmets.html"]["text"]
    assert any("1 .png" in warning for warning in content["warnings"])
    # `card.md` tells of the corpus, and is none of its files.
    assert "card.md" not in {text["doc"] for text in rows(stored / "texts.jsonl")}
    assert not any("card.md" in warning for warning in content["warnings"])
    check_numbers("corpus_formats", run_numbers(stored))


def test_a_file_is_converted_once_and_again_when_it_has_changed(run, folder, cli):
    def kept() -> int:
        lines = cli("cache", "ls").out.splitlines()
        found = [re.search(r"(\d+) rows?: suffix", line) for line in lines]
        return sum(int(match[1]) for match in found if match)

    first, _ = run()
    assert kept() == 5
    second, _ = run()
    assert kept() == 5
    page = pdf("A day pass costs 6 dollars.", "A year pass costs 400.", author="Ann")
    (folder / "corpus/a/fares.pdf").write_bytes(page)
    third, _ = run()
    texts = [
        {row["id"]: row["text"] for row in rows(stored / "documents.jsonl")}
        for stored in (first, second, third)
    ]

    assert texts[0] == texts[1]
    assert "A year pass costs 400." in texts[2].pop("a/fares.pdf")
    assert texts[2].items() < texts[0].items()
    assert kept() == 6


def test_filters_ask_for_what_files_tell_of_themselves(run):
    wheres = [{"author": "Ann"}, {"pages": 2}, {"suffix": ".html"}, {"folder": "g"}]
    wheres.append({"$and": [{"pages": {"$gte": 2}}, {"author": {"$ne": "Ann"}}]})
    stored, content = run(retrievers=[{"filtered": {"where": where}} for where in wheres])
    records = rows(stored / "records.jsonl")
    documents = [
        {hit["doc"] for row in records if row["cell"] == cell["name"] for hit in row["hits"]}
        for cell in content["cells"]
    ]
    assert documents == [
        {"a/fares.pdf"},
        {"a/fares.pdf", "c/talk.pptx"},
        {"d/helmets.html"},
        {"g/plain.txt"},
        {"c/talk.pptx"},
    ]


def test_a_glob_narrows_a_folder_and_html_may_stay_the_markup_it_is(run):
    weight = [question for question in QUESTIONS if question["id"] == "weight"]
    stored, _ = run(
        weight,
        corpus={"folder": {"path": "corpus", "glob": "**/*.html", "html": "raw"}},
        chunkers=["html"],
    )
    assert not (stored / "documents.jsonl").exists()
    (text, *_) = [row["text"] for row in rows(stored / "texts.jsonl")]
    assert "<p>A helmet weighs 300 grams.</p>" in text
    assert hits(stored)["weight"][0] == "d/helmets.html"


def test_a_file_that_cannot_be_read_is_an_error_or_skipped_and_listed(run, folder, cli):
    (folder / "corpus/bad.docx").write_bytes(b"PK")
    (folder / "corpus/latin.txt").write_bytes(b"caf\xe9")
    harbour.write(folder, **SETTINGS)
    (folder / "testset.jsonl").write_text(harbour.rows(QUESTIONS), "utf-8")
    said = cli("run", "config.yaml")
    assert (said.status, said.out) == (2, "")
    assert "bad.docx" in said.err
    assert "latin.txt" in said.err
    assert "Traceback" not in said.err
    stored, content = run(corpus={"path": "corpus", "on_error": "skip"})
    skipped = " ".join(content["warnings"])
    assert "bad.docx" in skipped
    assert "latin.txt" in skipped
    assert hits(stored)["pass"][0] == "a/fares.pdf"


TABLE = """nr,topic,question,answer,year
r1,fares,What is a pass?,It costs 6 dollars a day.,2024
r2,rules,Who may ride?,Whoever is 14 years old.,2019
"""


def test_columns_of_a_table_are_mapped_and_the_others_are_metadata(run, folder, monkeypatch):
    (folder / "faq.csv").write_text(TABLE, "utf-8")
    monkeypatch.setenv("TABLES", "faq")
    quotes = {"r1": "It costs 6 dollars a day.", "r2": "Whoever is 14 years old."}
    questions = [
        {"id": id_, "question": "Who may ride?", "evidence": [{"doc": id_, "quote": quote}]}
        for id_, quote in quotes.items()
    ]
    table = {"path": "${TABLES}.csv", "id": "nr", "title": "topic", "text": ["question", "answer"]}
    stored, content = run(
        questions,
        corpus={"csv": table},
        chunkers=[{"whole": {"header": "title"}}],
        retrievers=["dense", {"filtered": {"where": {"year": {"$gte": 2024}}}}],
    )
    texts = {row["doc"]: row["text"] for row in rows(stored / "texts.jsonl")}
    assert texts["r1"] == "question: What is a pass?\nanswer: It costs 6 dollars a day."
    plain, filtered = (
        {hit["doc"] for row in rows(stored / "records.jsonl") for hit in row["hits"]
         if row["cell"] == cell["name"]}
        for cell in content["cells"]
    )  # fmt: skip
    assert (plain, filtered) == ({"r1", "r2"}, {"r1"})


def test_a_configuration_names_documents_anywhere(folder, cli, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.txt").write_text("A day pass costs 6 dollars.", "utf-8")
    harbour.write(folder, **{**SETTINGS, "corpus": str(outside)})
    question = {"question": "What?", "evidence": [{"doc": "a.txt", "quote": "A day pass"}]}
    (folder / "testset.jsonl").write_text(harbour.rows([question]), "utf-8")
    assert cli("run", "config.yaml").status == 0
