"""`import`: other tools' test sets in our format; what is read back is what was read."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import corpus as corpora
from harness import testset as testsets
from harness.corpus import Corpus
from harness.corpus.jsonl_documents import JsonlDocuments as Lines
from harness.records import Document, Passage, Question, Span
from harness.testset import importing
from harness.testset.jsonl_questions import Jsonl
from harness.text.normal_form import normalise

RIVER = "The Elbe rises at 1,386 m. The Elbe ends in the North Sea."
SQUAD = {
    "data": [
        {
            "title": "Elbe",
            "paragraphs": [
                {
                    "context": RIVER,
                    "qas": [
                        {
                            "id": "where",
                            "question": "Where does it end?",
                            "answers": [{"text": "North Sea", "answer_start": 48}],
                        },
                        {
                            "id": "who",
                            "question": "Who bridged it?",
                            "is_impossible": True,
                            "answers": [],
                            "plausible_answers": [{"text": "The Elbe", "answer_start": 0}],
                        },
                    ],
                }
            ],
        }
    ]
}
WHERE = {
    "id": "where",
    "question": "Where does it end?",
    "answers": ["North Sea"],
    "evidence": [
        {"doc": "Elbe#1", "start": 48, "end": 57, "quote": "North Sea", "group": "answer"}
    ],
    "documents": {"Elbe#1": 1},
}


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the working directory, with a file in SQuAD's form."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "squad.json").write_text(json.dumps(SQUAD))
    return tmp_path


def test_a_test_set_is_written_in_our_form_and_accounted_for(folder, cli):
    said = cli("import", "squad", "squad.json", "-o", "out/set.jsonl")

    assert (said.status, said.err) == (0, "")
    assert said.out.splitlines() == [
        "2 questions, 1 unanswerable",
        "  1 with answers, 1 with evidence, 1 with documents",
        "  no place for plausible_answers: 1 value",
        "out/set.jsonl",
    ]
    assert lines(folder / "out" / "set.jsonl") == [
        WHERE,
        {"id": "who", "question": "Who bridged it?", "answerable": False},
    ]


@pytest.mark.parametrize(
    ("place", "file"), [("docs", "docs/corpus.jsonl"), ("docs.jsonl", "docs.jsonl")]
)
def test_the_corpus_is_written_too_and_both_are_read_back(folder, cli, place, file):
    said = cli("import", "squad", "squad.json", "-o", "set.jsonl", "--write-corpus", place)

    assert said.out.splitlines()[-2:] == ["set.jsonl", file]
    assert lines(folder / file) == [{"id": "Elbe#1", "title": "Elbe", "text": RIVER}]
    corpus = corpora.load(Lines(file))
    found = testsets.load(Jsonl("set.jsonl"), corpus)
    assert found == importing.read("squad", "squad.json", None).testset


def test_options_of_a_format_and_the_corpus_are_given_as_in_a_configuration(folder, cli):
    (folder / "topics.tsv").write_text("q1\tWhere?\nq2\tWho?\n")
    (folder / "qrels.txt").write_text("q1 0 Elbe#1 2\n")

    said = cli(
        *("import", "trec(qrels=qrels.txt)", "topics.tsv", "-o", "set.jsonl"),
        *("--corpus", "{squad: squad.json}"),
    )

    assert said.out.splitlines()[2] == "  note: 1 topics are not judged: left out"
    assert lines(folder / "set.jsonl") == [
        {"id": "q1", "question": "Where?", "documents": {"Elbe#1": 2}}
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("squat", "squad.json"), "unknown test-set format 'squat'"),
        (("squad", "none.json"), "'none.json' does not exist"),
        (("squad(split=dev)", "squad.json"), "has no parameter 'split'"),
        (("csv", "squad.json"), "csv holds no corpus, and its labels need one"),
        (("trec", "squad.json", "--corpus", "squad.json"), "qrels: it must be given"),
        (("squad", "squad.json", "--corpus", "{squad: [}"), "is not YAML"),
        (("squad", "squad.json", "--corpus", "."), "."),
        (("squad", "squad.json", "--write-corpus", "set.jsonl"), "cannot hold both"),
    ],
)
def test_what_cannot_be_imported_is_refused_and_nothing_written(folder, cli, arguments, said):
    found = cli("import", *arguments, "-o", "set.jsonl")

    assert found.status == 2
    assert said in found.err
    assert "Traceback" not in found.err
    assert [each.name for each in folder.iterdir()] == ["squad.json"]


@pytest.mark.parametrize("form", ["jsonl", "yaml"])
def test_drafts_keep_their_mark_and_are_counted(folder, cli, form):
    asked = [{"id": "a", "question": "A?", "draft": True}, {"id": "b", "question": "B?"}]
    text = json.dumps(asked) if form == "yaml" else "".join(f"{json.dumps(x)}\n" for x in asked)
    (folder / f"mine.{form}").write_text(text)

    said = cli("import", form, f"mine.{form}", "--corpus", "squad.json", "-o", "set.jsonl")

    assert said.out.splitlines() == [
        "2 questions, 0 unanswerable",
        "  1 draft that no person has accepted",
        "set.jsonl",
    ]
    assert lines(folder / "set.jsonl") == [
        {"id": "a", "question": "A?", "draft": True},
        {"id": "b", "question": "B?"},
    ]


def test_what_is_left_out_of_the_corpus_is_said(folder, cli):
    (folder / "docs").mkdir()
    for name, raw in {"a.md": b"text", "b.md": b"\xff", "c.png": b""}.items():
        (folder / "docs" / name).write_bytes(raw)
    (folder / "set.csv").write_text("question\nWhere?\n")

    corpus = "{path: docs, on_error: skip}"
    said = cli("import", "csv", "set.csv", "--corpus", corpus, "-o", "set.jsonl")

    assert said.status == 0
    assert said.err.splitlines() == [
        "note: skipped: b.md: is not UTF-8: byte 0xff at offset 0",
        "note: files of the corpus that nothing reads were left out: 1 .png",
    ]


TEXT = normalise(
    "\ufeffCafe\u0301 \ufeff on the Moon.\r\n\u2028 It is “far”, 384,400 km away. \x00\x1f end"
)
CORPUS = Corpus({"d 1": Document("d 1", TEXT), "e": Document("e", "x")}, "c")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SOME = TEXTS.filter(bool)


@st.composite
def passages(draw):
    start = draw(st.integers(0, len(TEXT) - 1))
    end = draw(st.integers(start + 1, len(TEXT)))
    return Passage(Span("d 1", start, end), TEXT[start:end], draw(SOME), draw(st.integers(1, 9)))


@st.composite
def questions(draw):
    answerable = draw(st.booleans())
    seen = passages().filter(lambda each: each.text.strip())
    return Question(
        draw(SOME),
        draw(SOME),
        tuple(map(normalise, draw(st.lists(TEXTS.filter(str.strip), max_size=2))))
        if answerable
        else (),
        tuple(draw(st.lists(seen, max_size=3))) if answerable else (),
        draw(st.none() | st.dictionaries(st.sampled_from(["d 1", "e"]), st.integers(-9, 9))),
        tuple(map(normalise, draw(st.lists(SOME, max_size=2)))),
        draw(st.none() | SOME),
        draw(st.none() | st.sampled_from(["easy", "hard"])),
        answerable,
    )


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(asked=st.lists(questions(), min_size=1, max_size=4, unique_by=lambda each: each.id))
def test_any_test_set_is_read_back_as_it_was(tmp_path, asked):
    path = tmp_path / "set.jsonl"
    found = importing.Imported(testsets.Testset(tuple(asked), "id"), CORPUS, {})

    importing.write(found, path, None, force=True)

    assert testsets.load(Jsonl(str(path)), CORPUS).questions == tuple(asked)


def test_a_corpus_with_what_filters_look_at_is_read_back(tmp_path):
    documents = {
        "a": Document("a", "One.\n", "A", {"year": 2024, "open": True}),
        "b": Document("b", TEXT),
    }
    found = importing.Imported(
        testsets.Testset((Question("q", "Q?"),), "id"), Corpus(documents, "c"), {}
    )

    importing.write(found, tmp_path / "set.jsonl", tmp_path / "docs.jsonl")

    assert dict(corpora.load(Lines(str(tmp_path / "docs.jsonl"))).documents) == documents


def test_published_benchmarks_survive_the_way_through_our_format(test_data, tmp_path):
    for name in ("xquad-en", "clapnq-dev"):
        found = importing.read("beir(answers=qa.jsonl)", str(test_data / name), None)
        set_, docs = importing.write(found, tmp_path / name / "s.jsonl", tmp_path / name / "docs")

        corpus = corpora.load(Lines(str(docs)))

        assert corpus.id == found.corpus.id
        assert testsets.load(Jsonl(str(set_)), corpus).id == found.testset.id
