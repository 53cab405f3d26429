"""Pools: what nobody judged goes out to people, and what they judged comes back as labels."""

import csv
import io
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import api
from harness.config.run_config import load
from harness.errors import DataError, HarnessError
from harness.files import csv_rows
from harness.people import pool
from harness.people.pool import PoolItem, mark
from harness.people.pool_labels import import_labels
from harness.runs import runner
from harness.store import reader
from harness.testset.jsonl_questions import Jsonl
from tests.support import small

FIELDS = ("item", "id", "question", "doc", "title", "text", "grade", "grades")
SETTINGS = {
    "labels": "documents",
    "chunkers": ["markdown"],
    "metrics": ["precision@3", "recall@3", "ndcg@3", "judged@3"],
}
TRUTH = {
    row["id"]: dict.fromkeys(small.DOCUMENTS, 0) | row["documents"]
    for row in small.QUESTIONS
    if "documents" in row
}
HOLES = [
    {**row, "documents": {"rules.md": 3}} if row["id"] == "age" else row for row in small.QUESTIONS
]
"""Of the question `age` nobody has seen that fares.md is relevant too."""


def run(folder, questions=HOLES, retriever="bm25", testset=None):
    config = small.project(folder, questions=questions, retrievers=[retriever], **SETTINGS)
    overrides = [] if testset is None else [f"testset={testset}"]
    return api.run(runner.prepare(load(config, overrides, {})), lambda *_: None).folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with two runs of one test set, and their folders."""
    folder = tmp_path_factory.mktemp("pool")
    return folder, [run(folder, retriever=each) for each in ("bm25", "dense")]


@pytest.fixture
def runs(made, tmp_path, monkeypatch):
    """Return the folders of the two runs; the working directory is a new one with the test set."""
    shutil.copy(made[0] / "testset.jsonl", tmp_path)
    monkeypatch.chdir(tmp_path)
    return made[1]


def rows(path):
    text = path.read_bytes().decode("utf-8-sig")
    if path.suffix == ".csv":
        return list(csv.DictReader(io.StringIO(text, newline="")))
    return [json.loads(line) for line in text.splitlines()]


def fill(path, grade=lambda row: TRUTH[row["id"]][row["doc"]]):
    """Write a grade into every row of a pool's file, as a person would."""
    filled = [{**row, "grade": grade(row)} for row in rows(path)]
    if path.suffix == ".csv":
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, FIELDS)
        writer.writeheader()
        writer.writerows(filled)
        path.write_bytes(out.getvalue().encode())
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in filled), "utf-8")


def scores(folder):
    return {
        (line.question, name): score.value
        for line in reader.load(folder).records
        for name, score in line.scores.items()
    }


@pytest.mark.parametrize("name", ["pool.jsonl", "pool.csv"])
def test_from_two_runs_with_holes_to_the_scores_of_the_full_labels(runs, tmp_path, cli, name):
    before = [scores(folder) for folder in runs]
    assert any(each["day", "judged@3"] < 1 for each in before)
    full = [{**row, "documents": TRUTH[row["id"]]} for row in HOLES if row["id"] in TRUTH]
    full += [row for row in HOLES if row["id"] not in TRUTH]

    assert cli("pool", *runs, "--k", 3, "-o", name).status == 0
    fill(tmp_path / name)
    said = cli("import", "labels", name, "--testset", "testset.jsonl", "-o", "full.jsonl")
    assert (said.status, said.err) == (0, "")
    again = scores(run(tmp_path / "again", testset=tmp_path / "full.jsonl"))
    expected = scores(run(tmp_path / "truth", questions=full))

    assert again == expected
    assert again != before[0]
    assert {value for (_, metric), value in again.items() if metric == "judged@3"} == {1.0, None}


def test_each_document_stands_once_and_nothing_says_where_it_was_found(runs, tmp_path, cli):
    said = cli("pool", *runs, "--k", 3, "-o", "pool.jsonl")

    found = rows(tmp_path / "pool.jsonl")
    stored = [reader.load(each) for each in runs]
    expected = {
        (record.question, hit.doc)
        for each in stored
        for record in each.records
        if (labels := each.questions[record.question].documents) is not None
        for hit in record.hits
        if hit.doc not in labels
    }
    assert sorted((row["id"], row["doc"]) for row in found) == sorted(expected)
    assert (
        said.out.splitlines()[0]
        == f"pool.jsonl: {len(expected)} documents to judge, for 4 questions"
    )
    assert all(tuple(row) == FIELDS for row in found)
    assert {row["grade"] for row in found} == {None}
    meaning = "0 not relevant, 1 to 3 relevant, 3 the most; -1 cannot be judged; empty: not judged"
    assert {row["grades"] for row in found} == {meaning}
    texts = {text for each in stored for text in each.texts.values()}
    assert {row["text"] for row in found} <= texts
    whole = (tmp_path / "pool.jsonl").read_text("utf-8")
    for each in stored:
        for secret in (each.run.id, "bm25", "dense", "markdown", "score", "rank"):
            assert secret not in whole


def test_the_text_is_that_of_the_chunk_that_was_ranked_best(runs):
    stored = [reader.load(each) for each in runs]

    for item in pool.collect(stored, 3):
        best = []
        for each in stored:
            for record in each.records:
                first = {hit.doc: hit for hit in reversed(record.hits)}
                order = list(dict.fromkeys(hit.doc for hit in record.hits))
                if record.question == item.id and item.doc in order[:3]:
                    hit = first[item.doc]
                    best.append((order.index(item.doc), each.texts[hit.doc, hit.start, hit.end]))
        assert item.text == min(best, key=lambda pair: pair[0])[1]


def test_the_order_is_drawn_by_the_seed_and_not_by_what_was_found(runs):
    stored = [reader.load(each) for each in runs]

    one, same, other = (pool.collect(stored, 3, seed) for seed in (1, 1, 2))
    turned = pool.collect(stored[::-1], 3, 1)

    assert one == same
    assert [each.item for each in turned] == [each.item for each in one]
    assert one != other
    assert sorted(each.item for each in one) == sorted(each.item for each in other)
    assert [each.item for each in one] != sorted(each.item for each in one)


def test_the_cut_counts_documents(runs):
    stored = reader.load(runs[0])

    first = {
        (record.question, record.hits[0].doc)
        for record in stored.records
        if record.hits
        and (labels := stored.questions[record.question].documents) is not None
        and record.hits[0].doc not in labels
    }

    assert {(each.id, each.doc) for each in pool.collect([stored], 1)} == first


def test_a_document_with_two_hits_takes_one_place(runs):
    stored = reader.load(runs[0])
    record = next(line for line in stored.records if line.question == "age")
    hits = [hit for line in stored.records for hit in line.hits]
    judged, other = (next(x for x in hits if x.doc == doc) for doc in ("rules.md", "fares.md"))
    again = replace(record, hits=[judged, judged, other])

    found = pool.collect([replace(stored, records=(again,))], 2)

    assert [each.doc for each in found] == ["fares.md"]


def test_a_text_that_is_in_no_document_is_nothing_to_judge(runs):
    stored = reader.load(runs[0])
    hits = [replace(hit, doc="unmatched:ab12") for hit in stored.records[0].hits]
    record = replace(stored.records[0], hits=hits)

    found = pool.collect([replace(stored, records=(record,))], 3)

    assert found == []


def changed(stored, **about):
    provenance = replace(stored.run.provenance, **about)
    return replace(stored, run=replace(stored.run, provenance=provenance))


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"testset": {"hash": "?"}}, "have not the same test set: other differs from {}"),
        ({"corpus": {"hash": "?"}}, "have not the same corpus: other differs from {}"),
        ({"labels": "evidence", "metrics": {}}, "a rule judges every chunk"),
    ],
)
def test_runs_of_another_test_set_corpus_or_label_are_refused_by_name(runs, about, said):
    one, two = (reader.load(each) for each in runs)
    other = replace(changed(two, **about), folder=Path("other"))

    with pytest.raises(HarnessError) as found:
        pool.collect([one, two, other], 3)

    assert said.format(one.folder) in str(found.value)


def test_what_is_no_place_for_a_pool_is_refused_before_anything_is_read(tmp_path, cli):
    said = cli("pool", tmp_path / "none", "-o", tmp_path / "pool.txt")

    assert said.status == 2
    assert "pool.txt' is no .jsonl or .csv file" in said.err


def test_where_all_is_judged_there_is_nothing_to_write(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    full = [{**row, "documents": TRUTH[row["id"]]} for row in HOLES if row["id"] in TRUTH]

    said = cli("pool", run(tmp_path, questions=full), "-o", "pool.csv")

    assert said.status == 0
    assert said.out == "every document in the top 10 is judged: nothing to write\n"
    assert not (tmp_path / "pool.csv").exists()


HARMFUL = ["=1+1", "+x", "-y", "@z", "\tq", "\rq", "'=1", "''", '"', "a,b;c\td\n e", "\x00", "-5",
           "＝1+1", " =1+1", "\n=1+1", "\u3000＠x", "a\r=1+1", "a\r\nb"]  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(HARMFUL))
def test_any_text_comes_back_from_csv_and_none_would_run(text):
    guarded = csv_rows.guard(text)

    assert csv_rows.restore(guarded) == text
    assert not csv_rows.is_formula(guarded)
    written = csv_rows.row([guarded, "next"]) * 2
    assert list(csv.reader(io.StringIO(written, newline=""))) == [[guarded, "next"]] * 2


@pytest.mark.parametrize("name", ["pool.jsonl", "pool.csv"])
def test_hostile_ids_and_texts_come_back_as_they_were(tmp_path, name):
    ids = ["=cmd|' /C calc'!A0", "@x", "'y'", "-1", 'a,b"c', " z ", "a\r=b"]
    items = [
        PoolItem(
            item=mark(id_, f"+{id_}"),
            id=id_,
            question=f"{id_}?",
            doc=f"+{id_}",
            title="=t",
            text="\u202e=1\n<script>" * 9,
            grades="",
        )
        for id_ in ids
    ]
    asked = [{"id": id_, "question": f"{id_}?"} for id_ in ids]
    (tmp_path / "t.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in asked))
    path = tmp_path / name

    pool.write(items, path)
    fill(path, lambda row: 1)
    import_labels([path], tmp_path / "t.jsonl", tmp_path / "new.jsonl")

    assert [row["documents"] for row in rows(tmp_path / "new.jsonl")] == [
        {f"+{id_}": 1} for id_ in ids
    ]
    if name == "pool.csv":
        assert not any(csv_rows.is_formula(cell) for row in rows(path) for cell in row.values())


LINES = (
    '{"id":"a",  "question": "A\\u0021?", "documents" : {"x": 1}, "answers": ["\\ud83d\\ude00"] }',
    '{"question": "B?", "documents": ["y"]}',
    "",
    '  {"id": 7, "question": "C?", "category": "c" }  ',
    '{"id": "d", "question": "D?"}',
)


@pytest.fixture
def testset(tmp_path, monkeypatch):
    """Return a test set with lines as people and tools write them, in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "t.jsonl"
    path.write_bytes(("\ufeff" + "\r\n".join(LINES)).encode())
    return path


def label(id_, doc, grade, **more):
    return json.dumps({"id": id_, "doc": doc, "grade": grade, **more})


def write(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def test_a_line_without_a_new_grade_stays_as_it_is(testset, tmp_path, cli):
    write(
        tmp_path / "l.jsonl",
        label("a", "z", 0), label("line-2", "w", 2), label("7", "é", -1), label("a", "x", 1),
        label("d", "x", None), label("d", "y", " "),
    )  # fmt: skip

    said = cli("import", "labels", "l.jsonl", "--testset", "t.jsonl")

    assert [line.strip() for line in said.out.splitlines()] == [
        "3 grades added to 3 questions",
        "1 x -1, 1 x 0, 1 x 2",
        "1 grade there already",
        "2 lines without a grade",
        "t-judged.jsonl",
    ]
    before = [json.loads(line) if line else None for line in LINES]
    after = (tmp_path / "t-judged.jsonl").read_text("utf-8").split("\n")
    assert [json.loads(line) if line.strip() else None for line in after] == [
        {**before[0], "documents": {"x": 1, "z": 0}},
        {**before[1], "documents": {"y": 1, "w": 2}},
        None,
        {**before[3], "documents": {"é": -1}},
        before[4],
    ]
    assert after[4] == LINES[4]
    assert testset.read_bytes() == ("\ufeff" + "\r\n".join(LINES)).encode()


def test_all_that_is_wrong_is_said_at_once_with_its_place(testset, tmp_path, cli):
    write(
        tmp_path / "l.jsonl",
        label("a", "z", 1.5), label("a", "z", True), label("a", "z", "good"), label("a", "z", -2),
        label("a", "z", 10**30), label("nobody", "z", 1), label("a", "x", 2), "{",
        label("d", "z", 1, item=mark("d", "zz")), label("d", "q", 1, question="Another?"),
        json.dumps({"id": "a", "grade": 1}), label("d", "z", 1),
    )  # fmt: skip
    (tmp_path / "m.csv").write_text("id,doc,grade\nd,z,0\nd\n")
    (tmp_path / "n.csv").write_text("sep=;\nid;doc;grade\nd;z;1.0\nd;é;9999\n", "utf-8")

    files = ("l.jsonl", "m.csv", "n.csv", "none.csv")
    said = cli("import", "labels", *files, "--testset", "t.jsonl")

    assert said.status == 2
    assert not (tmp_path / "t-judged.jsonl").exists()
    assert [line for line in said.err.splitlines() if not line.startswith("    ")] == [
        "labels cannot be read:",
        "  l.jsonl, line 1: grade: Input should be a valid integer, got a number with a fractional "
        "part, found 1.5",
        "  l.jsonl, line 2: grade: it is no number, found True",
        "  l.jsonl, line 3: grade: Input should be a valid integer, unable to parse string as an "
        "integer, found 'good'",
        "  l.jsonl, line 4: grade: Input should be greater than or equal to -1, found -2",
        f"  l.jsonl, line 5: grade: Input should be less than or equal to 1000, found {10**30}",
        "  l.jsonl, line 6: the test set has no question 'nobody'",
        "  l.jsonl, line 7: question 'a', document 'x': the grade is 2, and the test set says 1",
        "  l.jsonl, line 8: is not JSON: Expecting property name enclosed in double quotes at "
        "column 2",
        "  l.jsonl, line 9: question 'd' or document 'z' was changed since pool wrote it",
        "  l.jsonl, line 10: question 'd' is asked in other words in the test set",
        "  l.jsonl, line 11: lacks 'doc'",
        "  m.csv, line 3: has 1 values, and there are 3 columns",
        "  n.csv, line 4: grade: Input should be less than or equal to 1000, found '9999'",
        "  none.csv, the file: cannot be read: No such file or directory",
    ]


def test_documents_are_looked_up_in_the_corpus_where_it_is_named(testset, tmp_path, cli):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "z.md").write_text("text")
    write(tmp_path / "l.jsonl", label("d", "z.md", 1), label("d", "y.md", 1))

    said = cli("import", "labels", "l.jsonl", "--testset", "t.jsonl", "--corpus", "docs")

    assert said.status == 2
    assert said.err.splitlines()[1] == "  l.jsonl, line 2: the corpus has no document 'y.md'"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("labels", "l.jsonl"), "nothing says which test set the labels are for"),
        (("labels", "l.jsonl", "--testset", "t.csv"), "'t.csv' is no .jsonl test set"),
        (("labels", "l.jsonl", "--testset", "."), "'.' is no .jsonl test set"),
        (("labels", "none.jsonl", "--testset", "t.jsonl"), "none.jsonl, the file: cannot be read"),
        (("labels", "l.jsonl", "--testset", "none.jsonl"), "none.jsonl cannot be read"),
        (("labels", "l.jsonl", "--testset", "t.jsonl", "-o", "o.csv"), "'o.csv' is no .jsonl"),
        (("labels", "l.jsonl", "--testset", "t.jsonl", "-o", "l.jsonl"), "is there already"),
        (("labels", "l.jsonl", "--testset", "t.jsonl"), "no new grade to add to t.jsonl: 1 line"),
        (
            ("labels", "l.jsonl", "--testset", "t.jsonl", "--disagreements", "mean"),
            "--disagreements 'mean' is not known",
        ),
        (("labels", "l.jsonl", "--testset", "t.jsonl", "--run", "r"), "--run does not belong to"),
        (("squad", "l.jsonl"), "nothing says which file to write"),
        (("squad", "l.jsonl", "t.jsonl", "-o", "o.jsonl"), "a test set is one path, found 2"),
        (
            ("squad", "l.jsonl", "-o", "o.jsonl", "--testset", "t.jsonl"),
            "does not belong to a test",
        ),
        (("ratings", "l.jsonl"), "nothing says which run was rated"),
    ],
)
def test_what_cannot_be_imported_says_why(testset, tmp_path, cli, arguments, said):
    write(tmp_path / "l.jsonl", label("d", "z", None))

    found = cli("import", *arguments)

    assert found.status == 2
    assert said in found.err
    assert "Traceback" not in found.err
    assert sorted(os.listdir(tmp_path)) == ["l.jsonl", "t.jsonl"]


@pytest.mark.parametrize(
    "raw", [b"\xff\xfe", b"[" * 100_000, b'{"id": "d", "doc": "z", "grade": NaN}', b"\x00\x01"]
)
@pytest.mark.parametrize("name", ["l.jsonl", "l.csv"])
def test_damaged_files_are_refused(testset, tmp_path, name, raw):
    (tmp_path / name).write_bytes(raw)

    with pytest.raises(HarnessError):
        import_labels([tmp_path / name], testset)


def test_a_damaged_test_set_is_refused_with_its_lines(tmp_path):
    write(tmp_path / "t.jsonl", '{"id": "a"}', '{"id": "b", "question": "B?"}', "[]")
    write(tmp_path / "l.jsonl", label("b", "x", 1))

    with pytest.raises(DataError) as found:
        import_labels([tmp_path / "l.jsonl"], tmp_path / "t.jsonl")

    assert [each.where for each in found.value.problems] == ["line 1", "line 3"]


def test_what_is_written_is_a_test_set(testset, tmp_path):
    from harness import corpus as corpora
    from harness import testset as testsets
    from harness.corpus.jsonl_documents import JsonlDocuments as Documents

    lines = [json.dumps({"id": each, "text": each}) for each in "xyz"]
    write(tmp_path / "c.jsonl", *lines)
    write(tmp_path / "l.jsonl", label("d", "z", 2))

    import_labels([tmp_path / "l.jsonl"], testset, tmp_path / "new.jsonl")
    found = testsets.load(Jsonl(str(tmp_path / "new.jsonl")), corpora.load(Documents("c.jsonl")))

    assert [each.documents for each in found.questions] == [{"x": 1}, {"y": 1}, None, {"z": 2}]
