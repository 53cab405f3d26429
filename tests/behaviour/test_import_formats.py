"""`import` reads every format as our questions, says what has no place, and replaces nothing."""

import json
import shutil
from pathlib import Path

import pytest

from tests.behaviour import stations

RIVER = "The Elbe rises at 1,386 m. The Elbe ends in the North Sea."
SEA = {"doc": "Elbe#1", "start": 48, "end": 57, "quote": "North Sea", "group": "answer"}
WHERE = {
    "id": "where",
    "question": "Where does it end?",
    "answers": ["North Sea"],
    "evidence": [SEA],
    "documents": {"Elbe#1": 1},
}
WHO = {"id": "who", "question": "Who bridged it?", "answerable": False}
FOUND = {"text": "North Sea", "answer_start": 48}
SQUAD = {
    "title": "Elbe",
    "paragraphs": [
        {
            "context": RIVER,
            "qas": [
                {"id": "where", "question": "Where does it end?", "answers": [FOUND]},
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

CLASSIC = """<top>
<num> Number: q1
<title> Where?
<desc> Description:
To what sea?
</top>
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the working directory, with a SQuAD file and the same document as a corpus."""
    monkeypatch.chdir(tmp_path)
    Path("squad.json").write_text(json.dumps({"data": [SQUAD]}), "utf-8")
    written("corpus.jsonl", {"id": "Elbe#1", "title": "Elbe", "text": RIVER})
    return tmp_path


@pytest.fixture
def imported(folder, cli):
    """Return a function that imports, and gives the rows that came of it and what was printed."""

    def call(form, path, *arguments, corpus="corpus.jsonl"):
        given = ["--corpus", corpus] if corpus else []
        result = cli("import", form, path, "-o", "set.jsonl", "--force", *given, *arguments)
        assert result.status == 0, result.err
        return stations.lines(Path("set.jsonl")), result

    return call


def written(name, *rows):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


class TestFormats:
    def test_squad_brings_its_corpus_and_unanswerable_questions(self, imported):
        rows, result = imported("squad", "squad.json", "--write-corpus", "out/docs", corpus=None)

        assert rows == [WHERE, WHO]
        assert stations.lines(Path("out/docs/corpus.jsonl")) == [
            {"id": "Elbe#1", "title": "Elbe", "text": RIVER}
        ]
        assert result.out.splitlines() == [
            "2 questions, 1 unanswerable",
            "  1 with answers, 1 with evidence, 1 with documents",
            "  no place for plausible_answers: 1 value",
            "set.jsonl",
            "out/docs/corpus.jsonl",
        ]

    def test_what_was_imported_is_imported_again_as_it_was(self, imported):
        first, _ = imported("squad", "squad.json", "--write-corpus", "docs.jsonl", corpus=None)
        shutil.copy("set.jsonl", "mine.jsonl")

        assert imported("jsonl", "mine.jsonl", corpus="docs.jsonl")[0] == first

    def test_jsonl_rows_keep_their_labels_segments_and_draft_marks(self, imported):
        row = {
            **WHERE,
            "evidence": [SEA],
            "keywords": ["North Sea"],
            "category": "river",
            "difficulty": "easy",
            "draft": True,
        }
        rows, result = imported("jsonl", written("mine.jsonl", row, {"question": "Why?"}))

        assert rows[0] == row
        assert rows[1] == {"id": "line-2", "question": "Why?"}
        assert "  1 draft that no person has accepted" in result.out.splitlines()

    def test_csv_columns_are_the_keys_and_lists_are_cut_at_a_bar(self, imported):
        Path("set.csv").write_text(
            "id,question,answers,keywords,evidence_doc,evidence_quote,category\n"
            "where,Where does it end?,North Sea|the sea,Sea|North,Elbe#1,North Sea,river\n",
            "utf-8",
        )
        ((row,), _) = imported("csv", "set.csv")

        assert row["answers"] == ["North Sea", "the sea"]
        assert row["keywords"] == ["Sea", "North"]
        assert [(span["doc"], span["start"], span["end"]) for span in row["evidence"]] == [
            ("Elbe#1", 48, 57)
        ]
        assert row["category"] == "river"

    def test_yaml_is_a_list_of_questions_without_aliases(self, imported, cli):
        Path("set.yaml").write_text("- question: 'Where?'\n  answer: North Sea\n", "utf-8")
        ((row,), _) = imported("yaml", "set.yaml")
        Path("set.yaml").write_text("- &a\n  question: 'Where?'\n- *a\n", "utf-8")
        result = cli("import", "yaml", "set.yaml", "-o", "x.jsonl", "--corpus", "corpus.jsonl")

        assert row["answers"] == ["North Sea"]
        assert result.status == 2
        assert "line 3, column 3: the alias *a" in result.err

    @pytest.mark.parametrize(
        ("file", "text", "reason"),
        [
            ("set.yaml", "[" * 60 + "]" * 60, "nested too deeply"),
            ("config.yaml", "corpus: " + "[" * 60 + "]" * 60, "nested too deeply"),
            ("config.yaml", "corpus: &a [*a]\n", "recursive"),
        ],
        ids=["deep list", "deep keys", "an alias in itself"],
    )  # fmt: skip
    def test_yaml_has_bounds_of_depth_values_and_aliases(self, folder, cli, file, text, reason):
        Path(file).write_text(f"{text}\n", "utf-8")
        made = ["import", "yaml", file, "-o", "x.jsonl", "--corpus", "corpus.jsonl"]
        result = cli(*(["run", file] if file == "config.yaml" else made))

        assert (result.status, result.out) == (2, "")
        assert reason in result.err
        assert "Traceback" not in result.err

    @pytest.mark.parametrize(
        "keys",
        [
            ("user_input", "reference", "reference_contexts"),
            ("question", "ground_truth", None),
        ],
        ids=["new names", "old names"],
    )
    def test_ragas_is_read_by_new_and_old_names(self, imported, keys):
        asked, answer, contexts = keys
        row = {asked: "Where?", answer: "North Sea", "response": "Sea"}
        if contexts:
            row[contexts] = ["The Elbe ends in the North Sea."]
        ((question,), result) = imported("ragas", written("ragas.jsonl", row))

        assert question["answers"] == ["North Sea"]
        assert "  no place for response: 1 value" in result.out
        if contexts:
            assert [(span["start"], span["end"]) for span in question["evidence"]] == [(27, 58)]

    def test_ragas_contexts_that_are_nowhere_are_an_error_unless_ignored(self, imported, cli):
        row = {"user_input": "Where?", "reference": "x", "reference_contexts": ["not in it"]}
        path = written("ragas.jsonl", row)
        refused = cli("import", "ragas", path, "-o", "x.jsonl", "--corpus", "corpus.jsonl")
        ((question,), _) = imported("ragas(contexts=ignore)", path)

        assert refused.status == 2
        assert "evidence" not in question

    def beir(self, *answers):
        written("beir/corpus.jsonl", {"_id": "Elbe#1", "title": "Elbe", "text": RIVER})
        texts = {"where": "Where does it end?", "why": "Why?", "who": "Who bridged it?"}
        queries = [{"_id": name, "text": text} for name, text in texts.items()]
        written("beir/queries.jsonl", *queries)
        Path("beir/qrels").mkdir()
        Path("beir/qrels/dev.tsv").write_text(
            "query-id\tcorpus-id\tscore\nwhere\tElbe#1\t1\n", "utf-8"
        )
        written("beir/qa.jsonl", *answers)

    def test_beir_takes_the_judged_questions_of_its_split(self, imported):
        self.beir()
        rows, result = imported("beir(split=dev)", "beir", corpus=None)

        assert rows == [
            {"id": "where", "question": "Where does it end?", "documents": {"Elbe#1": 1}}
        ]
        assert "2 questions of queries.jsonl are not judged in this split" in result.out

    @pytest.mark.parametrize(("shift", "status"), [(0, 0), (8, 0), (-8, 0), (9, 2)])
    def test_beir_answers_may_be_eight_characters_off(self, folder, cli, shift, status):
        answer = {"text": "North Sea", "answer_start": 48 + shift}
        asked = {"id": "where", "answers": [answer], "context_id": "Elbe#1"}
        self.beir(asked, {"id": "who", "answerable": False})
        result = cli("import", "beir(split=dev, answers=qa.jsonl)", "beir", "-o", "set.jsonl")

        assert result.status == status, result
        if not status:
            rows = {row["id"]: row for row in stations.lines(Path("set.jsonl"))}
            assert set(rows) == {"where", "who"}
            assert [(span["start"], span["end"]) for span in rows["where"]["evidence"]] == [
                (48, 57)
            ]
            assert rows["who"]["answerable"] is False

    @pytest.mark.parametrize(
        ("options", "topics", "text"),
        [
            ("", "q1\tWhere does it end?\nq2\tWho?\n", "Where does it end?"),
            (
                "",
                CLASSIC,
                "Where?",
            ),
            (
                ", element=desc",
                CLASSIC,
                "To what sea?",
            ),
            (
                "",
                '<topics><topic number="q1"><query>Where to?</query></topic></topics>',
                "Where to?",
            ),
        ],
        ids=["lines", "classic", "another element", "XML"],
    )
    def test_trec_topics_are_lines_classic_or_xml(self, imported, options, topics, text):
        Path("topics.txt").write_text(topics, "utf-8")
        Path("qrels.txt").write_text("q1 0 Elbe#1 2\n", "utf-8")
        rows, _ = imported(f"trec(qrels=qrels.txt{options})", "topics.txt")

        assert rows == [{"id": "q1", "question": text, "documents": {"Elbe#1": 2}}]

    def test_autorag_needs_one_passage_of_each_group(self, imported):
        arrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        texts = {"a": "No air.", "b": "It has no air.", "c": "Two moons."}
        documents = [
            {"doc_id": name, "contents": text, "metadata": {"title": name.upper()}}
            for name, text in texts.items()
        ]
        question = {
            "qid": "q1",
            "query": "What, and what?",
            "retrieval_gt": [["a", "b"], ["c"]],
            "generation_gt": ["Air; moons"],
        }
        Path("autorag").mkdir()
        parquet.write_table(arrow.Table.from_pylist(documents), "autorag/corpus.parquet")
        parquet.write_table(arrow.Table.from_pylist([question]), "autorag/qa.parquet")
        ((row,), _) = imported("autorag", "autorag", "--write-corpus", "d.jsonl", corpus=None)

        groups = {span["doc"]: span["group"] for span in row["evidence"]}
        assert set(groups) == {"a", "b", "c"}
        assert groups["a"] == groups["b"] != groups["c"]
        assert row["documents"] == {"a": 1, "b": 1, "c": 1}
        assert row["answers"] == ["Air; moons"]
        assert [row["text"] for row in stations.lines(Path("d.jsonl"))] == list(texts.values())


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "reason"),
        [
            (("squat", "squad.json"), "unknown test-set format 'squat'"),
            (("squad", "none.json"), "'none.json' does not exist"),
            (("squad(split=dev)", "squad.json"), "has no parameter 'split'"),
            (("csv", "squad.json"), "csv holds no corpus, and its labels need one"),
            (("trec", "squad.json", "--corpus", "corpus.jsonl"), "qrels: it must be given"),
            (("squad", "squad.json", "--write-corpus", "set.jsonl"), "cannot hold both"),
        ],
    )
    def test_what_cannot_be_imported_is_refused_and_nothing_written(
        self, folder, cli, arguments, reason
    ):
        before = sorted(folder.iterdir())
        result = cli("import", *arguments, "-o", "set.jsonl")

        assert result.status == 2
        assert reason in result.err
        assert sorted(folder.iterdir()) == before

    def test_files_that_are_there_are_replaced_only_by_force(self, folder, cli):
        Path("set.jsonl").write_text("mine\n")
        Path("docs.jsonl").write_text("mine\n")
        first = cli("import", "squad", "squad.json", "-o", "set.jsonl")
        second = cli(
            "import", "squad", "squad.json", "-o", "a.jsonl", "--write-corpus", "docs.jsonl"
        )
        forced = cli("import", "squad", "squad.json", "-o", "set.jsonl", "--force")

        assert (first.status, second.status, forced.status) == (2, 2, 0)
        assert "'set.jsonl' is there already" in first.err
        assert not Path("a.jsonl").exists()
        assert stations.lines(Path("set.jsonl")) == [WHERE, WHO]

    def test_a_quote_that_is_nowhere_is_named_with_its_line(self, folder, cli):
        row = {"question": "Where?", "evidence": [{"doc": "Elbe#1", "quote": "in the Black Sea"}]}
        path = written("mine.jsonl", {"question": "Fine?"}, row)
        result = cli("import", "jsonl", path, "--corpus", "corpus.jsonl", "-o", "set.jsonl")

        assert result.status == 2
        assert "line 2" in result.err


class TestThumbs:
    @pytest.fixture
    def run(self, tmp_path, cli, monkeypatch):
        monkeypatch.chdir(tmp_path)
        stations.write(tmp_path)
        made = stations.Stations(tmp_path, cli)
        made.answer("a.jsonl", [stations.right(number) for number in range(12)])
        made.rank("b.run", stations.WORSE)
        return made.run(
            system=[
                {"trec_run": "app.run", "label": "app", "answers": "a.jsonl"},
                {"trec_run": "b.run", "label": "other", "answers": "a.jsonl"},
            ],
            metrics=["token_f1", "mrr@3"],
        )

    def test_thumbs_from_production_are_added_to_the_cell_that_is_named(self, run, cli):
        rows = [
            {"question": "q0", "thumb": "up", "user": "u1"},
            {"question": "how many docks has STATION 1?", "thumb": -1, "comment": "old"},
            {"question": "q2", "thumb": True},
            {"question": "Never asked?", "thumb": "down"},
        ]
        path = written("thumbs.jsonl", *rows)
        unnamed = cli("import", "ratings", path, "--run", run)
        result = cli("import", "ratings", path, "--run", run, "--cell", "app")
        again = cli("import", "ratings", path, "--run", run, "--cell", "app")
        ratings = stations.lines(run / "ratings.jsonl")

        assert unnamed.status == 2
        assert "app" in unnamed.err
        assert (result.status, again.status) == (0, 0)
        assert len(ratings) == 3
        assert "u1" not in (run / "ratings.jsonl").read_text("utf-8")
        assert "What people said" in (run / "report.md").read_text("utf-8")
        # Its checksums are written again, so that whoever reads it next accepts it.
        assert cli("score", run).status == 0
        assert len(stations.lines(run / "ratings.jsonl")) == 3

    def test_thumbs_of_csv_have_columns_in_any_order(self, run, cli):
        Path("thumbs.csv").write_text("Thumb;Question\nup;q0\n-1;q1\nup;q5\n", "utf-8")
        result = cli("import", "ratings", "thumbs.csv", "--run", run, "--cell", "app")

        assert result.status == 0, result.err
        assert len(stations.lines(run / "ratings.jsonl")) == 3
