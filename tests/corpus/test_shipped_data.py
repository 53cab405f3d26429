"""The shipped corpus and test set, held to their cards and to each other."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from harness import corpus, testset
from harness.corpus.folder_documents import FolderDocuments
from harness.generators.extractive import _stems
from harness.ranking.relevance import fold, occurs
from harness.testset.jsonl_questions import Jsonl

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "corpora" / "insurellm"
TESTSET = ROOT / "testsets" / "insurellm.jsonl"
ROWS = [json.loads(line) for line in TESTSET.read_text(encoding="utf-8").splitlines()]
ANSWERABLE = [row for row in ROWS if row.get("answerable", True)]
CARD = (CORPUS / "card.md").read_text(encoding="utf-8")
TESTSET_CARD = TESTSET.with_suffix(".md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def documents():
    return corpus.load(FolderDocuments(str(CORPUS))).documents


def number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found, f"the card does not say {pattern}"
    return int(found[1].replace(",", ""))


def test_the_corpus_is_as_large_as_its_card_says(documents):
    texts = [document.text for document in documents.values()]

    assert len(texts) == number(r"Documents \| (\d+) Markdown", CARD)
    assert sum(len(text.split()) for text in texts) == number(r"Words \| ([\d,]+)", CARD)
    assert sum(len(text) for text in texts) == number(r"Characters \| ([\d,]+)", CARD)


def test_the_folders_hold_as_many_documents_as_the_card_says(documents):
    folders = Counter(id_.split("/")[0] for id_ in documents)

    for row in re.findall(r"^\| (\w+) \| (\d+) \|", CARD, re.MULTILINE):
        assert folders[row[0]] == int(row[1]), row[0]


def test_a_superseded_document_names_one_that_exists(documents):
    superseded = {
        id_: re.match(r"# .+\n+> \*\*Superseded\*\* by (\S+\.md) on ", document.text)
        for id_, document in documents.items()
        if "**Superseded**" in document.text
    }

    assert len(superseded) >= 5
    assert all(found and found[1].strip("`") in documents for found in superseded.values())


def test_the_harness_accepts_the_test_set_without_a_note():
    loaded = testset.load(Jsonl(str(TESTSET)), corpus.load(FolderDocuments(str(CORPUS))))

    assert len(loaded.questions) == len(ROWS) == 180
    assert loaded.notes == ()
    assert loaded.labels() == ("evidence", "documents", "keywords", "answer")


def test_categories_are_counted_as_on_the_card():
    counted = Counter(row["category"] for row in ROWS)
    told = dict(re.findall(r"^\| (\w+) \| (\d+) \| [a-z]", TESTSET_CARD, re.MULTILINE))

    assert counted == {category: int(n) for category, n in told.items()}


def test_labels_are_counted_as_on_the_card():
    grades = Counter(grade for row in ANSWERABLE for grade in row["documents"].values())
    passages = [evidence for row in ANSWERABLE for evidence in row["evidence"]]
    groups = {(row["id"], e["group"]) for row in ANSWERABLE for e in row["evidence"]}

    assert len(ANSWERABLE) == number(r"Answerable \| (\d+)", TESTSET_CARD)
    assert sum(len(r["answers"]) > 1 for r in ANSWERABLE) == number(r"; (\d+) have", TESTSET_CARD)
    assert len(passages) == number(r"Evidence \| (\d+) passages", TESTSET_CARD)
    assert len(groups) == number(r"passages in (\d+) groups", TESTSET_CARD)
    assert grades[3] == number(r"documents \| (\d+) with grade 3", TESTSET_CARD)
    assert grades[2] == number(r"(\d+) with 2", TESTSET_CARD)
    assert grades[1] == number(r"(\d+) with 1", TESTSET_CARD)


def test_ids_and_questions_are_unique():
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    assert len({row["question"] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ANSWERABLE, ids=lambda row: row["id"])
class TestEveryAnswerableQuestion:
    def test_quotes_stand_at_their_offsets_and_nowhere_else(self, row, documents):
        for evidence in row["evidence"]:
            text = documents[evidence["doc"]].text
            assert text[evidence["start"] : evidence["end"]] == evidence["quote"]
            assert text.count(evidence["quote"]) == 1

    def test_keywords_stand_in_the_evidence(self, row):
        said = fold(" ".join(evidence["quote"] for evidence in row["evidence"]))
        assert row["keywords"]
        assert all(occurs(keyword, said) for keyword in row["keywords"])

    def test_a_document_has_grade_3_where_it_holds_evidence_and_only_there(self, row, documents):
        sources = {evidence["doc"] for evidence in row["evidence"]}
        assert {doc for doc, grade in row["documents"].items() if grade == 3} == sources
        assert row["documents"].keys() <= documents.keys()
        assert set(row["documents"].values()) <= {1, 2, 3}

    def test_has_a_reference_answer(self, row):
        assert all(answer.strip() for answer in row["answers"])
        assert row["answers"]


def test_a_spanning_question_has_facts_in_two_documents():
    for row in ANSWERABLE:
        if row["category"] == "spanning":
            groups = {e["group"] for e in row["evidence"]}
            assert len(groups) >= 2, row["id"]
            assert len({e["doc"] for e in row["evidence"]}) >= 2, row["id"]


def test_questions_share_few_words_with_their_evidence():
    shares = []
    for row in ANSWERABLE:
        asked = set(_stems(row["question"], "english"))
        said = {
            stem for evidence in row["evidence"] for stem in _stems(evidence["quote"], "english")
        }
        shares.append(len(asked & said) / len(asked))

    few = sum(share <= 1 / 3 for share in shares) / len(shares)
    assert round(100 * few) == number(r"(\d+) % share a third", TESTSET_CARD)
