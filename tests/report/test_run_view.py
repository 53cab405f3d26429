"""Segments: which questions belong to which, and how cells are marked."""

from harness.records import Passage, Question, Span
from harness.report.run_view import list_divisions, marks
from harness.store.cell_results import CellResult


def question(id_, words=5, category=None, difficulty=None, docs=(), documents=None):
    passages = tuple(Passage(Span(doc, 0, 1), "x", "1") for doc in docs)
    return Question(
        id=id_, text=" ".join(["word"] * words), passages=passages,
        documents=documents, category=category, difficulty=difficulty, answerable=True,
    )  # fmt: skip


def divided(*questions):
    return {
        way.name: {name: sorted(ids) for name, ids in way.segments.items()}
        for way in list_divisions(questions)
    }


def test_questions_are_divided_by_category_difficulty_document_and_length():
    found = divided(
        question("a", 10, "fact", "easy", ["x.md", "y.md"]),
        question("b", 11, "fact", "hard", ["x.md"]),
        question("c", 21, "list", "hard", documents={"y.md": 2, "z.md": 0}),
    )

    assert found == {
        "Category": {"fact": ["a", "b"], "list": ["c"]},
        "Difficulty": {"easy": ["a"], "hard": ["b", "c"]},
        "Document": {"x.md": ["a", "b"], "y.md": ["a", "c"]},
        "Question length": {
            "up to 10 words": ["a"], "11 to 20 words": ["b"], "over 20 words": ["c"]
        },
    }  # fmt: skip


def test_what_does_not_divide_the_questions_is_left_out():
    assert divided(question("a", category="fact"), question("b")) == {}


def test_the_twelve_documents_with_the_most_questions_are_shown():
    asked = [question(f"q{n}-{m}", docs=[f"d{n}.md"]) for n in range(15) for m in range(15 - n)]
    (way,) = list_divisions(asked)
    assert list(way.segments) == [f"d{n}.md" for n in range(12)]
    assert way.left_out == 3


def cell(chunker, retriever, reranker="none", embedder="minilm"):
    name = f"{chunker} {embedder} {retriever} {reranker}"
    return CellResult(
        name=name, chunker=chunker, embedder=embedder, retriever=retriever, reranker=reranker,
        generator="none", fingerprint="", chunks=1, floor=False, copies=False, asked=0, answered=0,
        declined=0, failed=0, seconds={}, scores={},
    )  # fmt: skip


def drawn(*cells):
    return [(mark.hue, mark.shape) for mark in marks(cells).values()]


def test_the_hue_is_the_retrieval_method_and_the_shape_the_chunker():
    assert drawn(
        cell("a", "bm25"), cell("b", "dense"), cell("a", "hybrid(weights=[1, 2])"),
        cell("b", "hybrid", "cross_encoder"), cell("c", "mmr"), cell("d", "dense"),
    ) == [(0, 0), (1, 1), (2, 0), (3, 1), (4, 2), (1, 3)]  # fmt: skip


def test_the_hue_is_the_embedder_where_there_is_one_method_only():
    found = drawn(*(cell("a", "dense", embedder=f"e{n}") for n in range(10)))
    assert len(set(found[:8])) == 8
    assert all(0 <= hue < 8 for hue, _ in found)
