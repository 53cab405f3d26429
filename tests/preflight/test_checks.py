"""Checks before a run: each finds what is planted, with its figure, and nothing in sound data."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from harness import api
from harness.config.run_config import load
from harness.errors import HarnessError
from harness.preflight import checks
from harness.preflight.checks import Finding
from harness.preflight.checks.models import readable_lengths
from harness.preflight.checks.questions import describe_smallest_difference
from harness.records import Answer
from harness.report import preflight_blocks, terminal
from harness.runs import runner
from harness.runs.result_tables import TimedAnswer
from tests.preflight.looking import asked, find, looked, looking, prepared
from tests.support.collections_made import langchain_like
from tests.support.counting import counting_embedder
from tests.support.cross_encoders import tiny
from tests.support.small import DOCUMENTS, QUESTIONS, project

ROOT = Path(__file__).parents[2]
DAY, DOCKS, AGE, *_ = QUESTIONS
COPY = "# Fares\n\nA day pass costs 6 dollars.\n\n\nA month pass costs  40 dollars.\n"
WORDS = " ".join(f"word{number}" for number in range(204))
NOTICE = "Copyright of the city, all rights reserved."
MANY = {f"d{number}.md": f"Number {number} costs dollars." for number in range(20)}
NO_KEYWORDS = {"answer_test": {"keywords": False}}
CHOICES = {
    "first": ("A day pass", "Is a day pass or a month pass cheaper?"),
    "last": ("month pass", "Which is cheaper, a day pass or a month pass?"),
    "other": ("day pass", "What does a day pass cost in euros or dollars?"),
}


def judged(count):
    """Return questions that passage_recall judges."""
    return [
        {**DAY, "id": f"j{n}", "question": f"What costs a day pass, {n}?"} for n in range(count)
    ]


PLANTED = {
    "copies": (
        {"documents": {"copy.md": COPY, "one.md": WORDS, "two.md": f"{WORDS} and some more"}},
        "duplicates",
        [
            (
                "warning",
                "2 of 6 documents (33.3 %) are the same, word for word, as another; 1 question has "
                "its gold in one whose twin is not labelled: retrieved in its place, the twin "
                "counts as wrong",
                ("fares.md", "copy.md"),
            ),
            ("note", "2 of 6 documents (33.3 %) are nearly the same", ("one.md", "two.md")),
        ],
    ),
    "a twin that is labelled too": (
        {
            "documents": {"copy.md": COPY},
            "questions": [{**DAY, "documents": {"fares.md": 3, "copy.md": 3}}],
            "labels": "documents",
        },
        "duplicates",
        [("note", "2 of 4 documents (50.0 %) are the same", ("copy.md", "fares.md"))],
    ),
    "tiny and repeated chunks": (
        {
            "documents": {f"n{n}.md": f"{NOTICE}\n\n# N{n}\n\nshort" for n in range(4)},
            "chunkers": ["markdown"],
            "retrievers": ["bm25"],
        },
        "chunks",
        [
            ("warning", "4 of 11 chunks (36.4 %) of markdown: fewer than 20 visible", None),
            ("warning", "3 of 11 chunks (27.3 %) of markdown: the text of another; most", ()),
        ],
    ),
    "a line at the end of many documents": (
        {
            "documents": {
                f"n{n}.md": f"# Same\n\nText {n}.\n\nFor the city only.\n" for n in range(5)
            }
        },
        "boilerplate",
        [("note", "5 of 8 documents (62 %) begin or end with the line 'For the city only.'", ())],
    ),
    "passages cut apart": (
        {"chunkers": [{"fixed": {"size": 20}}]},
        "gold",
        [
            (
                "warning",
                "4 of 4 groups of passages (100.0 %), of 4 questions, are whole in no single "
                "chunk of fixed(size=20)",
                ("day", "docks", "age", "helmet"),
            )
        ],
    ),
    "passages that are whole": ({"chunkers": ["markdown"]}, "gold", []),
    "one of several alternatives is whole": (
        {
            "questions": [
                {
                    **DAY,
                    "evidence": [
                        {"doc": "fares.md", "quote": "A day pass costs 6 dollars.", "group": "a"},
                        {"doc": "fares.md", "quote": "day", "group": "a"},
                    ],
                }
            ],
            "chunkers": [{"fixed": {"size": 16}}],
        },
        "gold",
        [],
    ),
    "a keyword of most chunks": (
        {
            "documents": MANY,
            "questions": [{**DAY, "keywords": ["dollars", "6 dollars"]}],
            "labels": "keywords",
            "chunkers": ["whole"],
            "metrics": ["recall@2"],
        },
        "keywords",
        [
            (
                "warning",
                "1 keyword of 1 question is in over half of the chunks of whole: 'dollars' in 21 "
                "of 23",
                ("day",),
            )
        ],
    ),
    "keywords cut apart": (
        {"labels": "keywords", "chunkers": [{"fixed": {"size": 4}}], "metrics": ["recall@2"]},
        "keywords",
        [("warning", "4 of 4 labelled questions (100.0 %) have nothing relevant to find", None)],
    ),
    "keywords under other labels": ({"chunkers": [{"fixed": {"size": 4}}]}, "keywords", []),
    "an answer in the question": (
        {
            "questions": [
                {**DOCKS, "question": "Has the harbour station 24 docks?"},
                {**AGE, "id": "yes", "answers": ["Yes."], "question": "Yes, 14 years old?"},
                {**AGE, "id": "part", "answers": ["14 year"], "question": "Is it 14 years?"},
            ]
        },
        "leaks",
        [
            (
                "warning",
                "1 of 3 questions with an answer (33.3 %) may give it away: it stands in their "
                "own text",
                ("docks",),
            ),
            ("warning", "3 of 3 questions with keywords (100.0 %) with all of them in", None),
        ],
    ),
    "an answer of four characters, and one of two": (
        {
            "questions": [
                {**DOCKS, "answers": ["24"], "question": "Are there 24 of them?"},
                {**DOCKS, "id": "year", "answers": ["2019"], "question": "Was it in 2019?"},
            ],
            **NO_KEYWORDS,
        },
        "leaks",
        [("warning", "1 of 2 questions with an answer", ("year",))],
    ),
    "an answer that the question offers beside another": (
        {
            "questions": [
                {**DAY, "id": id_, "answers": [answer], "question": text}
                for id_, (answer, text) in CHOICES.items()
            ],
            **NO_KEYWORDS,
        },
        "leaks",
        [("warning", "1 of 3 questions with an answer", ("other",))],
    ),
    "49 questions": (
        {"questions": judged(49)},
        "size",
        [
            ("warning", "49 questions are few", ()),
            ("note", "between two cells, differences under 0.122 (6 questions) cannot show", ()),
        ],
    ),
    "99 questions": (
        {"questions": judged(99)},
        "size",
        [("note", "99 questions are not many: between two cells, differences under 0.061", ())],
    ),
    "100 questions": ({"questions": judged(100)}, "size", []),
    "49 that the deciding metric judges": (
        {"questions": [*judged(49), *map(asked, range(100))]},
        "size",
        [
            ("warning", "49 questions of 149 that passage_recall@2 judges are few", ()),
            ("note", "between two cells", ()),
        ],
    ),
    "149 that another deciding metric judges": (
        {"questions": [*judged(49), *map(asked, range(100))], "metrics": ["abstention"]},
        "size",
        [],
    ),
    "a sample": (
        {"sample": 2, "sample_seed": 3},
        "size",
        [
            ("warning", "a sample of 2 of the 5 questions, chosen once", ()),
            ("note", "no difference between two cells can be significant", ()),
        ],
    ),
    "few clusters": (
        {"clusters": True},
        "size",
        [
            ("warning", "4 questions of 5 that passage_recall@2 judges are few", ()),
            ("warning", "4 clusters of questions are too few for an interval to rest on", ()),
            ("note", "no difference", ()),
        ],
    ),
    "a question asked twice": (
        {
            "questions": [
                *QUESTIONS,
                {**DAY, "id": "again", "question": "what does  a DAY pass cost?"},
            ]
        },
        "questions",
        [
            (
                "warning",
                "1 of 6 questions (16.7 %) repeats the text of another",
                ("day = again",),
            )
        ],
    ),
    "no unanswerable question": (
        {"questions": QUESTIONS[:4]},
        "questions",
        [("note", "no question is unanswerable", ())],
    ),
    "few labels, all positive": (
        {"documents": MANY, "questions": [DAY, AGE], "labels": "documents"},
        "pool",
        [("note", "1.5 documents are judged per question, of 23 documents", ())],
    ),
    "one label that is not positive": (
        {
            "documents": MANY,
            "questions": [{**DAY, "documents": {"fares.md": 3, "rules.md": 0}}, AGE],
            "labels": "documents",
        },
        "pool",
        [],
    ),
    "a model that reads all": ({}, "windows", []),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_check_finds_what_is_planted_and_no_more(tmp_path, name):
    changes, check, expected = PLANTED[name]
    changes = dict(changes)
    documents, questions = changes.pop("documents", None), changes.pop("questions", None)

    found = looked(prepared(tmp_path, documents, questions, **changes), check)

    assert sorted(finding.level for finding in found) == sorted(level for level, _, _ in expected)
    for level, text, examples in expected:
        (same,) = [finding for finding in found if finding.text.startswith(text)]
        assert same.level == level
        assert examples in (None, same.examples)


def test_of_the_shipped_data_nothing_is_found(tmp_path):
    overrides = [
        "embedders=[hashing]",
        f"cache={tmp_path / 'c'}",
        "generators=[none]",
        "metrics=[passage_recall@5, recall(labels=documents)@5, hit_rate@5]",
    ]

    assert looked(runner.prepare(load(ROOT / "config.yaml", overrides, {}))) == []


def test_odd_documents_stop_no_check(tmp_path):
    odd = {"nul.md": "a\x00b\x00 c " * 9, "line.md": "x" * 300_000, "signs.md": "—…!? " * 50}
    odd |= {"spaces.md": " \n\t ", "blank.md": ""}
    made = prepared(tmp_path, odd, chunkers=["whole", {"fixed": {"size": 60}}])

    assert {finding.check for finding in looked(made)} >= {"size"}


def test_of_systems_only_data_is_looked_at(tmp_path):
    (tmp_path / "my.run").write_text("day Q0 fares.md 1 9 x\n")
    config = project(tmp_path, metrics=["hit_rate@2"], system={"trec_run": "my.run"})
    without(config, "chunkers", "embedders", "retrievers", "generators", "retrieve", "context")
    (tmp_path / "corpus" / "copy.md").write_text(DOCUMENTS["fares.md"])

    found = looked(runner.prepare(load(config, [], {})))

    assert [finding.check for finding in found] == ["duplicates", "size", "size"]


def without(config, *keys):
    settings = yaml.safe_load(config.read_text())
    config.write_text(yaml.safe_dump({key: settings[key] for key in settings if key not in keys}))


def test_a_missing_prompt_is_said_once_whatever_the_cells(tmp_path):
    folder = tmp_path / "e5-base"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    parts = [
        {"sentence_transformer": {"model": str(folder), "quantize": each}}
        for each in ("none", "int8")
    ]
    found = looked(prepared(tmp_path, embedders=[*parts, "hashing"]), "prompts")

    assert [each.remedy for each in found] == ["set query_prompt", "set document_prompt"]
    assert "questions are embedded without the prompt 'query: '" in found[0].text


class TestModels:
    def test_chunks_longer_than_the_model_reads_are_counted_with_what_is_cut_off(self, tmp_path):
        made = prepared(tmp_path, chunkers=[{"fixed": {"size": 60}}], retrievers=["dense"])
        cells = [replace(cell, embedder=counting_embedder(30)) for cell in made.config.cells]
        made = replace(made, config=replace(made.config, cells=cells))
        with looking(made) as look:
            texts = [chunk.indexed_text for chunk in look.artefacts.chunks(cells[0].chunker)]
        long = [text for text in texts if len(text) > 30]
        cut = sum(len(text) - 30 for text in long) / sum(map(len, texts))

        (found,) = looked(made, "windows")

        assert found.level == "warning"
        assert found.text.startswith(f"{len(long)} of {len(texts)} chunks (")
        assert f"{100 * cut:.1f} % of the text is not in the index" in found.text
        assert found.examples == ("fares.md", "rules.md", "stations.md")

    def test_how_much_is_read_is_found_to_the_character(self):
        texts = ["", "a", "a" * 10, "a" * 11, "b" * 999]

        lengths = readable_lengths(texts, lambda some: [len(text) > 10 for text in some])

        assert lengths == [0, 1, 10, 10, 10]

    @pytest.mark.slow
    def test_chunks_that_a_cross_encoder_cannot_read_whole_are_counted(self, tmp_path):
        rerankers = [{"cross_encoder": {"model": tiny(tmp_path / "model")}}]
        changes = {"chunkers": ["whole"], "retrievers": ["bm25"], "rerankers": rerankers}

        (found,) = looked(prepared(tmp_path, {"long.md": "word " * 120}, **changes), "pairs")

        assert found.text.startswith("1 of 4 chunks (25.0 %) of whole is longer than cross_encoder")
        assert found.text.endswith("it reads 128 tokens of both")
        assert found.examples == ("long.md",)

    def test_lengths_of_a_collections_vectors_matter_by_inner_product(self, tmp_path):
        vectors = np.eye(3, 64) * [[1.0], [2.0], [4.0]]
        records = [(text, {"source": name}) for name, text in DOCUMENTS.items()]
        space = {"hnsw": {"space": "ip"}}
        langchain_like(tmp_path / "db", "kept", records, vectors=vectors, configuration=space)
        existing = {"collection": "kept", "path": str(tmp_path / "db")}
        changes = {"index": {"existing": existing}, "retrievers": ["dense"]}
        config = project(tmp_path, embedders=[{"hashing": {"dimensions": 64}}], **changes)
        without(config, "chunkers")

        found = api.check(runner.prepare(load(config, [], {})), lambda *_: None)

        assert any(
            finding.text.startswith(
                "collection 'kept' compares by inner product, and its vectors are 1.000 to 4.000 "
                "long (3 looked at)"
            )
            for finding in found
        )


class TestMemory:
    def test_answers_to_no_context_that_are_kept_are_judged(self, tmp_path):
        made = prepared(tmp_path, generators=[{"chat": {"model": "openai:gpt-4o-mini"}}])
        assert looked(made, "memory", deep=False) == []
        assert [finding.remedy for finding in looked(made, "memory")] == [
            "`run --oracle` measures it"
        ]
        with looking(made) as look:
            kept = look.artefacts.answers(made.config.cells[0])
            texts = {row["id"]: row["question"] for row in QUESTIONS}
            for id_, answer in (("day", "6 dollars"), ("docks", "Many."), ("ceo", "Nobody.")):
                kept.put({(texts[id_], "", 0): TimedAnswer(Answer(answer), 0.1)})

        with looking(made, deep=False) as look:
            (found,) = find("memory", look)
            assert look.cache.counted()["answers"]["reused"] == 0

        assert found.text.startswith("1 of 2 questions (50.0 %) is answered right without any")
        assert (found.level, found.examples) == ("warning", ("day",))


class TestWhatIsKept:
    def test_another_setting_that_a_check_reads_is_looked_at_anew(self, tmp_path):
        metrics = ["passage_recall@2", "abstention"]
        sizes = [
            looked(prepared(tmp_path, metrics=metrics, decide_by=name), "size")[0].text
            for name in (*metrics, metrics[0])
        ]
        settings = {"chunkers": ["markdown"], "labels": "evidence", "metrics": ["recall@2"]}
        graded = [
            looked(prepared(tmp_path, relevance_level=level, **settings), None) for level in (1, 2)
        ]

        assert sizes[0].startswith("4 questions of 5 that passage_recall@2 judges are few")
        assert sizes[1].startswith("5 questions are few")
        assert sizes[2] == sizes[0]
        # A passage that gives no grade has 1.
        assert [sum(one.check == "gold" for one in found) for found in graded] == [0, 1]


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (5, "no difference between two cells can be significant"),
        # Of six that all go one way, 2 x 0.5 ** 6 is the first under 5 %.
        (40, "between two cells, differences under 0.150 (6 questions) cannot show"),
        (8, "shows four times in five where all that change go one way"),
        (1000, "shows four times in five where one question in ten differs"),
    ],
)
def test_the_smallest_difference_is_that_of_mcnemars_test(n, said):
    assert said in describe_smallest_difference(n)


def test_findings_are_printed_in_100_columns_errors_first():
    found = [
        Finding("gold", "error", "nothing"),
        Finding("size", "note", "12 questions " * 20, "ask more", ("a", "b\x1b[31m")),
    ]
    text = terminal.render([*preflight_blocks.findings(found)])

    assert all(len(line) <= 100 for line in text.splitlines())
    assert text.splitlines()[:4] == [
        "checks: 1 error, 1 note",
        "",
        "check  error",
        "gold   nothing",
    ]
    assert "in: a, b [31m → ask more" in " ".join(text.split())
    assert terminal.render([*preflight_blocks.findings([])]) == "checks: nothing found"


def test_errors_refuse_and_warnings_do_not():
    checks.refuse_errors([Finding("gold", "warning", "some")])
    with pytest.raises(HarnessError) as error:
        checks.refuse_errors([Finding("gold", "error", "all lost", "mend it", ("q1",))])
    assert str(error.value).splitlines()[1:] == ["  gold: all lost (q1)", "    mend it"]
