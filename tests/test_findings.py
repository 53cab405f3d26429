"""Checks before a run: each finds what is planted, with its figure, and nothing in sound data."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from harness.config.run_config import load
from harness.errors import HarnessError
from harness.preflight import checks, near_duplicates
from harness.preflight.checks import Finding, documents, models, questions
from harness.records import Answer
from harness.report import preflight_blocks, terminal
from harness.runs import runner
from harness.runs.result_tables import TimedAnswer
from tests.counting import counting_embedder
from tests.looking import asked, find, looked, looking, prepared
from tests.small import QUESTIONS

ROOT = Path(__file__).parent.parent
FEW = [
    "size",
    "4 questions of 5 that passage_recall@2 judges are few: no difference between two cells can "
    "be significant",
]


def said(found):
    return [(each.check, each.level, each.text.partition(":")[0]) for each in found]


def test_of_the_shipped_data_nothing_is_said(tmp_path):
    overrides = [
        "embedders=[hashing]",
        f"cache={tmp_path / 'c'}",
        "generators=[none]",
        "metrics=[passage_recall@5, recall(labels=documents)@5, hit_rate@5]",
    ]
    made = runner.prepare(load(ROOT / "config.yaml", overrides, {}))

    assert looked(made) == []


class TestWindows:
    def test_chunks_longer_than_the_model_reads_are_counted_with_what_is_cut_off(self, tmp_path):
        made = prepared(tmp_path, chunkers=[{"fixed": {"size": 60}}], retrievers=["dense"])
        cells = [replace(each, embedder=counting_embedder(30)) for each in made.config.cells]
        made = replace(made, config=replace(made.config, cells=cells))
        with looking(made) as look:
            texts = [each.indexed_text for each in look.artefacts.chunks(cells[0].chunker)]
        long = [text for text in texts if len(text) > 30]
        cut = sum(len(text) - 30 for text in long) / sum(map(len, texts))

        (found,) = looked(made, "windows")

        assert found.level == "warning"
        assert found.text.startswith(f"{len(long)} of {len(texts)} chunks (")
        assert f"{100 * cut:.1f} % of the text is not in the index" in found.text
        assert 0 < cut < 1
        assert found.examples == ("fares.md", "rules.md", "stations.md")

    def test_of_a_model_that_reads_all_nothing_is_said(self, tmp_path):
        assert looked(prepared(tmp_path), "windows") == []

    def test_how_much_is_read_is_found_to_the_character(self):
        texts = ["", "a", "a" * 10, "a" * 11, "b" * 999]

        assert models.readable_lengths(texts, lambda some: [len(each) > 10 for each in some]) == [
            *(0, 1, 10, 10, 10)
        ]


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


WORDS = " ".join(f"word{number}" for number in range(204))  # 200 runs of five words


class TestDuplicates:
    def test_copies_and_near_copies_are_counted_with_the_questions_they_bear_on(self, tmp_path):
        copy = "# Fares\n\nA day pass costs 6 dollars.\n\n\nA month pass costs  40 dollars.\n"
        near = {"one.md": WORDS, "two.md": f"{WORDS} and some more at its end"}
        made = prepared(tmp_path, {"copy.md": copy, **near})

        same, nearly = looked(made, "duplicates")

        assert same.level == "warning"
        assert same.text == (
            "2 of 6 documents (33.3 %) are the same, word for word, as another; 1 question has "
            "its gold in one whose twin is not labelled: retrieved in its place, the twin counts "
            "as wrong"
        )
        assert same.examples == ("fares.md", "copy.md")
        assert (nearly.level, nearly.examples) == ("note", ("one.md", "two.md"))
        assert nearly.text.startswith("2 of 6 documents (33.3 %) are nearly the same")

    def test_a_twin_that_is_labelled_too_is_none_to_warn_of(self, tmp_path):
        question = {**QUESTIONS[0], "documents": {"fares.md": 3, "copy.md": 3}}
        made = prepared(tmp_path, {"copy.md": made_copy()}, [question], labels="documents")

        (found,) = looked(made, "duplicates")

        assert (found.level, found.remedy) == ("note", "")

    def test_what_is_dear_is_left_to_deep_and_then_known_to_runs(self, tmp_path, monkeypatch):
        monkeypatch.setattr(documents, "_MAX_COMPARED_CHARS", 0)
        made = prepared(tmp_path, {"copy.md": made_copy()})
        named = [each.check for each in looked(made, deep=False)]
        assert "duplicates" not in named

        assert "duplicates" in [each.check for each in looked(made, deep=True)]
        assert "duplicates" in [each.check for each in looked(made, deep=False)]

    @pytest.mark.parametrize("seed", range(2))
    def test_banding_finds_every_pair_that_comparing_all_finds(self, seed):
        texts = variants(seed)
        hashed = {id_: near_duplicates.shingles(text) for id_, text in texts.items()}
        exact = [
            pair
            for pair in combinations(texts, 2)
            if near_duplicates.jaccard(*map(hashed.get, pair)) >= 0.8
        ]
        groups = near_duplicates.find_groups(list(texts), texts.__getitem__, seed)
        assert {frozenset(pair) for pair in exact} == {frozenset(group) for group in groups}
        assert len(exact) == 10

    def test_the_share_of_shingles_is_exact(self):
        shorter, longer = near_duplicates.shingles(WORDS), near_duplicates.shingles(f"{WORDS} a b")

        assert (len(shorter), len(longer)) == (200, 202)
        assert near_duplicates.jaccard(shorter, longer) == 200 / 202
        assert near_duplicates.jaccard(shorter, near_duplicates.shingles("")) == 0.0
        assert (
            near_duplicates.jaccard(
                near_duplicates.shingles("A b"), near_duplicates.shingles("a  B")
            )
            == 1.0
        )

    def test_a_text_without_spaces_has_shingles_of_pairs_of_characters(self):
        text = "".join(map(chr, range(0x4E00, 0x4E00 + 40)))  # 39 pairs, 35 runs of five
        changed = text[:-1] + "水"
        found = near_duplicates.jaccard(
            near_duplicates.shingles(text), near_duplicates.shingles(changed)
        )
        assert found == pytest.approx(34 / 36, abs=1e-12)


def made_copy():
    return "# Fares\n\nA day pass costs 6 dollars.\n\nA month pass costs 40 dollars.\n"


def variants(seed):
    """Return 60 texts, of which ten pairs are alike at just 0.8 and more, the rest at 0.64."""
    shared = [f"common{number}" for number in range(160)]
    texts = {
        f"{at:02}": " ".join([*shared, *(f"x{seed}-{at}-{n}".replace("-", "y") for n in range(40))])
        for at in range(50)
    }
    for at in range(10):
        words = texts[f"{at:02}"].split()
        words[at * 4] = "changed"  # up to five runs of 196 differ on either side
        texts[f"{50 + at}"] = " ".join(words[:199])
    return texts


class TestChunks:
    def test_tiny_and_repeated_chunks_are_counted(self, tmp_path):
        notice = "Copyright of the city, all rights reserved."
        documents = {f"n{at}.md": f"{notice}\n\n# N{at}\n\nshort" for at in range(4)}
        made = prepared(tmp_path, documents, chunkers=["markdown"], retrievers=["bm25"])
        with looking(made) as look:
            chunks = [each.text for each in look.artefacts.chunks(made.config.cells[0].chunker)]
        tiny = sum(len("".join(each.split())) < 20 for each in chunks)

        found = {each.text.partition(": ")[2][:10]: each for each in looked(made, "chunks")}

        few = found["fewer than"]
        assert (few.level, tiny) == ("warning", 4)
        assert few.text.startswith(f"4 of {len(chunks)} chunks (")
        assert few.examples == ("n0.md", "n1.md", "n2.md", "n3.md")
        again = found["the text o"]
        assert again.text.startswith(f"3 of {len(chunks)} chunks (")
        assert again.text.endswith(
            "most often 'Copyright of the city, all rights reserv…', 4 times"
        )

    def test_lines_at_the_ends_of_many_documents_are_named(self, tmp_path):
        documents = {
            f"n{at}.md": f"# Same\n\nText {at} here.\n\nFor the city only.\n" for at in range(5)
        }

        (found,) = looked(prepared(tmp_path, documents), "boilerplate")

        assert found.text == (
            "5 of 8 documents (62 %) begin or end with the line 'For the city only.'"
        )


class TestGold:
    def test_passages_that_no_chunk_holds_are_counted_and_named(self, tmp_path):
        made = prepared(tmp_path, chunkers=[{"fixed": {"size": 20}}], min_overlap=1.0)

        cut, nothing = looked(made, "gold")

        assert cut.text == (
            "4 of 4 groups of passages (100.0 %), of 4 questions, are whole in no single chunk of "
            "fixed(size=20)"
        )
        assert (cut.level, cut.examples) == ("warning", ("day", "docks", "age", "helmet"))
        # Chunks that lie inside a passage are all of the shorter: two passages have none.
        with looking(made) as look:
            judge = look.artefacts.relevance(made.config.cells[0].chunker)
            empty = [q.id for q in look.questions if judge.relevant_grades("evidence", q) == {}]
        assert nothing.examples == tuple(empty)
        assert nothing.text.startswith(f"{len(empty)} of 4 labelled questions")

    def test_of_chunks_that_hold_every_passage_nothing_is_said(self, tmp_path):
        assert looked(prepared(tmp_path, chunkers=["markdown"]), "gold") == []

    def test_one_of_several_alternatives_is_enough(self, tmp_path):
        twice = [
            {"doc": "fares.md", "quote": "A day pass costs 6 dollars.", "group": "a"},
            {"doc": "fares.md", "quote": "6 dollars", "group": "a"},
        ]
        question = {**QUESTIONS[0], "evidence": twice}
        made = prepared(tmp_path, None, [question], chunkers=[{"fixed": {"size": 12}}])
        with looking(made) as look:
            chunks = [each.text for each in look.artefacts.chunks(made.config.cells[0].chunker)]

        cut = [each for each in looked(made, "gold") if "whole in no" in each.text]

        assert len(cut) == (not any("6 dollars" in each for each in chunks))


class TestKeywords:
    def test_one_that_most_chunks_hold_is_named(self, tmp_path):
        common = {**QUESTIONS[0], "keywords": ["dollars", "6 dollars"]}
        documents = {f"d{at}.md": f"Number {at} costs dollars." for at in range(9)}
        made = prepared(
            tmp_path,
            documents,
            [common],
            labels="keywords",
            chunkers=["whole"],
            metrics=["recall@2"],
        )

        (found,) = looked(made, "keywords")

        assert found.text == (
            "1 keyword of 1 question is in over half of the chunks of whole: 'dollars' in 10 of 12"
        )

    def test_questions_whose_keywords_are_cut_apart_have_nothing_to_find(self, tmp_path):
        made = prepared(
            tmp_path, labels="keywords", chunkers=[{"fixed": {"size": 4}}], metrics=["recall@2"]
        )

        found = [each for each in looked(made, "keywords") if each.check == "gold"]

        assert found[0].text.endswith("no keyword of theirs is whole in a chunk of fixed(size=4)")
        assert set(found[0].examples) >= {"day", "docks", "age"}

    def test_under_other_labels_nobody_reads_the_chunks_for_them(self, tmp_path):
        made = prepared(tmp_path, chunkers=[{"fixed": {"size": 4}}], metrics=["passage_recall@2"])

        assert looked(made, "keywords") == []


class TestLeaks:
    def test_an_answer_in_the_question_is_found_at_word_boundaries(self, tmp_path):
        rows = [
            {**QUESTIONS[1], "question": "Has the harbour station 24 docks?"},
            {**QUESTIONS[2], "id": "yes", "answers": ["Yes."], "question": "Yes, 14 years old?"},
            {**QUESTIONS[2], "id": "part", "answers": ["14 year"], "question": "Is it 14 years?"},
        ]

        answer, keywords = looked(prepared(tmp_path, None, rows), "leaks")

        assert answer.text == (
            "1 of 3 questions with an answer (33.3 %) may give it away: it stands in their own text"
        )
        assert (answer.level, answer.examples) == ("warning", ("docks",))
        assert keywords.text.startswith(
            "3 of 3 questions with keywords (100.0 %) with all of them in"
        )

    def test_an_answer_of_under_four_characters_is_no_leak_and_one_of_four_is(self, tmp_path):
        rows = [
            {**QUESTIONS[1], "answers": ["24"], "question": "Are there 24 of them?"},
            {**QUESTIONS[1], "id": "year", "answers": ["2019"], "question": "Was it in 2019?"},
        ]
        made = prepared(tmp_path, None, rows, answer_test={"keywords": False})

        (found,) = looked(made, "leaks")

        assert found.examples == ("year",)

    def test_a_choice_that_the_question_offers_is_no_leak(self, tmp_path):
        asks = {
            "first": ("A day pass", "Is a day pass or a month pass cheaper?"),
            "last": ("month pass", "Which is cheaper, a day pass or a month pass?"),
            "other": ("day pass", "What does a day pass cost in euros or dollars?"),
        }
        rows = [
            {**QUESTIONS[0], "id": id_, "answers": [answer], "question": text}
            for id_, (answer, text) in asks.items()
        ]
        made = prepared(tmp_path, None, rows, answer_test={"keywords": False})

        (found,) = looked(made, "leaks")

        assert found.examples == ("other",)

    def test_keywords_that_do_not_judge_answers_leak_nothing(self, tmp_path):
        rows = [{**QUESTIONS[1], "answers": ["two dozen"], "question": "Are there 24 docks?"}]
        made = prepared(tmp_path, None, rows, answer_test={"keywords": False})

        assert looked(made, "leaks") == []


class TestMemory:
    def chat(self, folder):
        return prepared(folder, generators=[{"chat": {"model": "openai:gpt-4o-mini"}}])

    def test_answers_to_no_context_that_are_kept_are_judged(self, tmp_path):
        made = self.chat(tmp_path)
        with looking(made) as look:
            kept = look.artefacts.answers(made.config.cells[0])
            for question, text in (("day", "6 dollars"), ("docks", "Many."), ("ceo", "Nobody.")):
                row = next(each for each in QUESTIONS if each["id"] == question)
                kept.put({(row["question"], "", 0): TimedAnswer(Answer(text), 0.1)})

        with looking(made, deep=False) as look:
            (found,) = find("memory", look)
            assert look.cache.counted()["answers"]["reused"] == 0

        assert found.text.startswith("1 of 2 questions (50.0 %) is answered right without any")
        assert (found.level, found.examples) == ("warning", ("day",))

    def test_where_none_is_kept_only_a_deep_look_says_so(self, tmp_path):
        made = self.chat(tmp_path)

        assert looked(made, "memory", deep=False) == []
        assert [each.remedy for each in looked(made, "memory")] == ["`run --oracle` measures it"]
        assert looked(prepared(tmp_path), "memory") == []  # extractive remembers nothing


def judged(number):
    """Return a question that passage_recall judges."""
    return {**QUESTIONS[0], "id": f"j{number}", "question": f"What costs a day pass, {number}?"}


class TestWhatIsKept:
    """A setting that a check reads is part of what its findings are kept by."""

    def test_another_deciding_metric_is_looked_at_anew(self, tmp_path):
        metrics = ["passage_recall@2", "abstention"]
        few = [
            looked(prepared(tmp_path, metrics=metrics, decide_by=by), "size")[0].text
            for by in (*metrics, metrics[0])
        ]

        assert few[0].startswith("4 questions of 5 that passage_recall@2 judges are few")
        assert few[1].startswith("5 questions are few")
        assert few[2] == few[0]

    def test_another_level_of_relevance_is_looked_at_anew(self, tmp_path):
        settings = {"chunkers": ["markdown"], "labels": "evidence", "metrics": ["recall@2"]}
        made = [prepared(tmp_path, relevance_level=level, **settings) for level in (1, 2)]
        golden = [[each.text for each in looked(one) if each.check == "gold"] for one in made]

        # A passage that gives no grade has 1.
        assert golden[0] == []
        assert len(golden[1]) == 1
        assert golden[1] == [each.text for each in looked(made[1], "gold")]


def _of(found, check):
    (only,) = [each for each in found if each.check == check]
    return only


class TestSize:
    @pytest.mark.parametrize(
        ("n", "level", "best"),
        [(49, "warning", "0.122 (6 questions)"), (99, "note", "0.061 (6 questions)")],
    )
    def test_few_questions_say_what_they_can_show(self, tmp_path, n, level, best):
        found = looked(prepared(tmp_path, None, [judged(at) for at in range(n)]), "size")

        assert found[0].level == level
        assert best in found[-1].text
        assert found[-1].level == "note"  # no run keeps it: its report has a figure of its own

    def test_only_questions_that_the_deciding_metric_judges_count(self, tmp_path):
        rows = [judged(at) for at in range(100)]
        rows += map(asked, range(100))

        few, _ = looked(prepared(tmp_path, None, [*rows[:49], *rows[100:]]), "size")
        assert few.text.startswith("49 questions of 149 that passage_recall@2 judges are few")
        made = prepared(tmp_path, None, rows, metrics=["abstention"])
        assert looked(made, "size") == []

    def test_a_large_difference_is_not_said_to_be_of_one_question_in_ten(self):
        assert questions.describe_smallest_difference(8).endswith(
            "shows four times in five where all that change go one way"
        )
        assert questions.describe_smallest_difference(1000).endswith(
            "shows four times in five where one question in ten differs"
        )

    def test_of_a_hundred_nothing_is_said(self, tmp_path):
        rows = [judged(at) for at in range(100)]
        assert looked(prepared(tmp_path, None, rows), "size") == []

    def test_the_smallest_that_is_significant_is_that_of_the_binomial_test(self):
        least = next(k for k in range(1, 20) if 2 * 0.5**k <= 0.05)  # all k go one way

        assert questions.describe_smallest_difference(40).startswith(
            f"between two cells, differences under {least / 40:.3f} ({least} questions) cannot show"
        )
        assert (
            questions.describe_smallest_difference(least - 1)
            == "no difference between two cells can be significant"
        )

    def test_of_a_sample_it_says_of_what(self, tmp_path):
        made = prepared(tmp_path, sample=2, sample_seed=3)

        found, shown = looked(made, "size")

        assert found.text == "a sample of 2 of the 5 questions, chosen once"
        assert shown.text.startswith("no difference")

    def test_few_clusters_are_named(self, tmp_path):
        found = looked(prepared(tmp_path, clusters=True), "size")

        assert found[-1].text == "4 clusters of questions are too few for an interval to rest on"


def test_a_question_asked_twice_is_found_whatever_its_case(tmp_path):
    rows = [*QUESTIONS, {**QUESTIONS[0], "id": "again", "question": "what does  a DAY pass cost?"}]

    (found,) = looked(prepared(tmp_path, None, rows), "questions")

    assert found.text.startswith("1 of 6 questions (16.7 %) repeats the text of another")
    assert found.examples == ("day = again",)


def test_that_no_question_is_unanswerable_is_noted(tmp_path):
    (found,) = looked(prepared(tmp_path, None, QUESTIONS[:4]), "questions")

    assert (found.level, found.remedy) == ("note", "add some, with `answerable: false`")


class TestPool:
    def pooled(self, folder, *rows):
        documents = {f"d{at}.md": f"Number {at}." for at in range(20)}
        return looked(prepared(folder, documents, list(rows), labels="documents"), "pool")

    def test_labels_that_are_few_and_all_positive_are_noted(self, tmp_path):
        (found,) = self.pooled(tmp_path, QUESTIONS[0], QUESTIONS[2])

        assert found.text.startswith("1.5 documents are judged per question, of 23 documents")

    def test_one_that_was_judged_irrelevant_is_enough(self, tmp_path):
        judged = {**QUESTIONS[0], "documents": {"fares.md": 3, "rules.md": 0}}

        assert self.pooled(tmp_path, judged, QUESTIONS[2]) == []


def test_findings_are_printed_in_100_columns_errors_first():
    found = [
        Finding("gold", "error", "nothing"),
        Finding("size", "note", "12 questions " * 20, "ask more", ("a", "b\x1b[31m")),
    ]
    text = terminal.render([*preflight_blocks.findings(found)])

    assert all(len(line) <= 100 for line in text.splitlines())
    assert text.splitlines()[:5] == [
        "checks: 1 error, 1 note",
        "",
        "check  error",
        "gold   nothing",
        "",
    ]
    assert "in: a, b [31m → ask more" in " ".join(text.split())
    assert terminal.render([*preflight_blocks.findings([])]) == "checks: nothing found"


def test_errors_refuse_and_warnings_do_not():
    checks.refuse_errors([Finding("gold", "warning", "some")])
    with pytest.raises(HarnessError) as error:
        checks.refuse_errors([Finding("gold", "error", "all lost", "mend it", ("q1",))])
    assert str(error.value).splitlines()[1:] == ["  gold: all lost (q1)", "    mend it"]
