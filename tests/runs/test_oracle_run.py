"""Perfect retrieval and none: what is asked, what it comes to, and what a report says of it."""

import json
from dataclasses import replace

import pytest

from harness import api
from harness.config.run_config import load
from harness.errors import DataError, RunError
from harness.metrics import named_metrics
from harness.records import Passage, Question, Span
from harness.report.run_view import View
from harness.report.sections import oracle
from harness.report.sections.advice import (
    MIN_USEFUL_GAIN,
    advice,
    max_plausible_gain,
)
from harness.report.sections.oracle import sentences
from harness.report.sections.oracle import summary_line as line_of
from harness.runs import runner
from harness.runs.oracle.oracle_run import evidence_context
from harness.runs.oracle.oracle_scores import read_records, select_answer_metrics
from harness.stats.difference_estimate import DifferenceEstimate
from harness.store import reader
from tests.support import small
from tests.support.damage import unsealed
from tests.support.judge_server import part, sitting

N = 24
KNOWN = "s00"
"""The question that the model answers without any context."""
ADVISED = "Work on the generator: better retrieval would buy little"
MANY = 80
METRICS = [
    "passage_recall@1",
    "evidence_recall@1",
    "evidence_ceiling@1",
    "chunk_ceiling",
    "token_f1",
    "abstention",
]


def passage(doc, start, text, group):
    return Passage(Span(doc, start, start + len(text)), text, group)


class TestTheContext:
    def test_holds_the_first_passage_of_each_group_in_document_order(self):
        asked = Question(
            "q",
            "?",
            passages=(
                passage("b", 40, "late in b", "#0"),
                passage("a", 0, "says the same", "#0"),
                passage("b", 3, "early in b", "#1"),
                passage("a", 9, "in a", "#2"),
            ),
        )

        assert evidence_context(asked, 100) == "in a\n\nearly in b\n\nlate in b"

    def test_is_cut_at_the_tokens_of_a_context_but_at_no_number_of_chunks(self):
        asked = Question(
            "q", "?", passages=tuple(passage("a", 9 * at, "one two", f"#{at}") for at in range(9))
        )

        assert evidence_context(asked, 1000).count("one two") == 9
        assert evidence_context(asked, 3) == "one two\n\none"

    def test_there_is_none_without_passages_or_of_an_unanswerable_question(self):
        some = (passage("a", 0, "x", "#0"),)

        assert evidence_context(Question("q", "?"), 10) is None
        assert evidence_context(Question("q", "?", passages=some, answerable=False), 10) is None


def planted(folder, url, n=N, **changes):
    """Write a project whose evidence half of the questions cannot find; return its configuration.

    Question `sNN` with an even number names its station, as the document does; one with an odd
    number shares no word with any document.
    """
    corpus, rows = folder / "corpus", []
    corpus.mkdir(parents=True, exist_ok=True)
    for number in range(n):
        said = f"Station s{number:02} has code {7000 + number}."
        (corpus / f"{number:02}.md").write_text(f"Ahead lies nothing.\n\n{said}\n", "utf-8")
        plain = number % 2 == 0
        rows.append(
            {
                "id": f"s{number:02}",
                "question": f"Which code for s{number:02}?" if plain else f"Whither {number}th?",
                "answers": [str(7000 + number)],
                "evidence": [{"doc": f"{number:02}.md", "quote": said}],
            }
        )
    rows.append({"id": "none", "question": "Who sings?", "answerable": False})
    (folder / "testset.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    chat = {"model": "openai:reader", "base_url": url, "retries": 0, "concurrent": 1}
    settings = {
        "corpus": "corpus",
        "testset": "testset.jsonl",
        "chunkers": ["whole"],
        "embedders": ["hashing"],
        "retrievers": ["bm25"],
        "generators": [{"chat": chat}],
        "retrieve": 1,
        "context": {"chunks": 1, "tokens": 100},
        "metrics": METRICS,
        "decide_by": "token_f1",
        "oracle": True,
        "output": str(folder / "reports"),
        "cache": str(folder / "cache"),
        **changes,
    }
    path = folder / "config.yaml"
    path.write_text(json.dumps(settings), "utf-8")
    return path


def reads(prompt):
    """Answer as a model does that finds a code in its context, and knows one by heart."""
    context, asked = part(prompt + "\n\n?", "context"), prompt.rpartition("Question: ")[2]
    codes = [word.rstrip(".") for word in context.split() if word.rstrip(".").isdigit()]
    if codes:
        return codes[0]
    return "7000" if KNOWN in asked else "I don't know."


def ran(config):
    return api.run(runner.prepare(load(config, [], {})), lambda *_: None)


def one(folder, **changes):
    """Return what the small project with one cell stored, run with the oracle."""
    return small.stored(
        folder, **{"oracle": True, "chunkers": ["markdown"], "retrievers": ["bm25"], **changes}
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return the planted run, its view, and the prompts that were asked; it is run twice."""
    with pytest.MonkeyPatch.context() as environment, sitting(reads) as bench:
        environment.setenv("OPENAI_API_KEY", "none")
        config = planted(tmp_path_factory.mktemp("oracle"), bench.url)
        ran(config)
        asked = list(bench.asked)
        again = ran(config)
        assert bench.asked == asked
        return again, View(reader.load(again.folder)), asked


def lines(view, given):
    return {each.question: each for each in read_records(view.stored) if each.given == given}


class TestARun:
    def test_asks_each_generator_with_the_evidence_and_with_nothing(self, finished):
        _, view, asked = finished
        contexts = [part(prompt + "\n\n?", "context").strip() for prompt in asked]

        assert contexts.count("") == N + 1
        assert sum(each.startswith("Station") for each in contexts) == N
        assert len(asked) == len(set(asked))
        assert lines(view, "evidence")["s03"].context == "Station s03 has code 7003."
        assert lines(view, "nothing")["s03"].context == ""

    def test_finds_the_whole_of_what_was_planted_and_nothing_else(self, finished):
        _, view, _ = finished
        everything, nothing = view.run.oracle

        assert (everything.given, everything.asked, everything.answered) == ("evidence", N, N)
        assert (everything.right, everything.tested, everything.declined) == (N, N, 0)
        assert everything.scores["token_f1"].mean == 1.0
        assert (nothing.given, nothing.asked, nothing.declined) == ("nothing", N + 1, N)
        assert (nothing.right, nothing.tested) == (1, N)
        assert nothing.scores["token_f1"].mean == pytest.approx(1 / N)
        # Of all 25 it declines the unanswerable one rightly, and answers one of the others.
        assert nothing.scores["abstention"].mean == pytest.approx(2 / (N + 1))

    def test_a_metric_is_of_answers_alone_if_all_it_is_made_of_are(self):
        specs = ["token_f1", "context_overlap", "passage_recall@1"]
        specs += [f"composite(weights=0.5*token_f1 + 0.5*{name})" for name in ("bleu", specs[1])]
        named = [named_metrics.build_metric(each, "evidence", 1) for each in specs]

        assert [each.name for each in select_answer_metrics(named, "evidence", 1)] == [
            specs[0],
            specs[3],
        ]

    def test_asks_nothing_where_a_question_has_no_evidence_and_says_why(self, finished):
        _, view, _ = finished
        line = lines(view, "evidence")["none"]

        assert (line.context, line.answer, line.answered, line.error) == (None, None, None, None)
        assert line.scores["abstention"].state == "not_scored"
        assert line.scores["abstention"].reason.startswith("nothing was asked")
        assert view.run.oracle[0].scores["abstention"].not_scored == 1

    def test_keeps_the_ceilings_that_the_metrics_of_the_same_names_come_to(self, finished):
        _, view, _ = finished
        (line,), (cell,) = view.run.ceilings, view.cells

        assert (line.chunker, line.k) == (cell.chunker, 1)
        assert line.evidence_recall == cell.scores["evidence_ceiling@1"]
        assert line.chunk_ceiling == cell.scores["chunk_ceiling"]
        assert line.evidence_recall.mean == 1.0

    def test_several_answers_to_a_question_are_asked_for_once(self, tmp_path, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        with sitting(reads) as bench:
            chat = {"model": "openai:reader", "base_url": bench.url, "retries": 0, "repeat": 3}
            chat |= {"temperature": 0.7}
            done = ran(planted(tmp_path, bench.url, generators=[{"chat": chat}]))
            empty = [each for each in bench.asked if "Context:\n\n" in each]

        # What bm25 finds nothing for, the cell asks from nothing too: three times each.
        found = read_records(reader.load(done.folder))
        assert len(found) == 2 * (N + 1)
        alone = sum(not each.context for each in reader.load(done.folder).records)
        assert len(empty) == 3 * alone + N + 1 - alone


class TestFailures:
    def test_are_recorded_and_count_as_nothing(self, tmp_path, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        fails = "Station s05 has"
        with sitting(lambda prompt: None if f"\n{fails}" in prompt else reads(prompt)) as bench:
            view = View(reader.load(ran(planted(tmp_path, bench.url)).folder))
        stored = view.stored
        line, summed = lines(view, "evidence")["s05"], stored.run.oracle[0]

        # The cell never saw that passage alone: its context begins with the line above it.
        assert stored.run.cells[0].failed == 0
        assert line.error is not None
        assert line.scores["token_f1"].state == "failed"
        assert (summed.failed, summed.answered, summed.right, summed.tested) == (1, N - 1, N - 1, N)
        assert summed.scores["token_f1"].mean == pytest.approx((N - 1) / N)

        # A call that failed says nothing of what evidence is good for.
        (found,) = view.potentials
        assert (found.wrong, found.tested, found.asked) == ([], N - 1, N)
        # `s05` asks for nothing of its document, so the cell has it only by the luck of a tie.
        own = [each for each in view.records(found.cell) if each.question not in ("s05", "none")]
        mean = sum(each.scores["token_f1"].value for each in own) / (N - 1)
        (row, *_) = found.rows
        assert row.finished == (pytest.approx(mean), 1.0)
        assert row.gain.difference == pytest.approx(row.finished[1] - row.finished[0])
        assert row.evidence.mean == pytest.approx((N - 1) / N)
        said = next(sentences(view, found))
        assert f"token_f1 from {mean:.2f} to 1.00 (+{1 - mean:.2f}" in said
        assert f"{mean:.2f} as retrieved, 1.00 with the gold" in line_of(view, found)
        assert f"n = {N - 1})" in line_of(view, found)

    def test_that_are_too_many_end_the_run_which_the_same_command_continues(
        self, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("OPENAI_API_KEY", "none")

        def fails(prompt):
            return "Context:\nStation" in prompt and "Station s00" not in prompt

        with sitting(lambda prompt: None if fails(prompt) else reads(prompt)) as bench:
            config = planted(tmp_path, bench.url, max_failures=2)
            with pytest.raises(RunError, match="oracle: evidence, chat") as ended:
                ran(config)
            (folder,) = (tmp_path / "reports").glob("2*")
            broken = reader.load(folder)
            kept, view = read_records(broken), View(broken)
            (found,) = view.potentials
            before = len(bench.asked)
            bench.says = reads
            whole = ran(config)
            again = bench.asked[before:]

        assert "3 of 5 questions failed" in str(ended.value)  # one has no evidence to be asked with
        assert broken.run.status == "failed"
        assert [each.question for each in kept] == ["s00", "s01", "s02", "s03", "none"]
        assert whole.folder == folder
        assert whole.run.oracle[0].right == N
        assert not any("Context:\nStation s00" in prompt for prompt in again)
        assert (found.asked, found.askable) == (4, N)
        assert (found.wrong, found.tested) == ([], 1)
        told = "Only 4 of 24 questions were asked with their gold passages"
        assert any(each.startswith(told) for each in sentences(view, found))
        assert "n = 1; 4 of 24 questions were asked)" in line_of(view, found)
        *_, note, _, _, _ = oracle.blocks(view)
        assert note.text.startswith("Over the 4 of 24 questions that can be answered and have")

    def test_a_damaged_file_is_named(self, tmp_path):
        stored = one(tmp_path)
        path = stored.folder / reader.ORACLE
        path.write_text(path.read_text("utf-8").replace('"day"', '"night"', 1), "utf-8")

        with pytest.raises(DataError, match=r"oracle\.jsonl: is not as it was written"):
            read_records(stored)
        unsealed(stored.folder)
        with pytest.raises(DataError, match=r"oracle\.jsonl, line 1: the run has no question"):
            read_records(reader.load(stored.folder))


@pytest.fixture(scope="module")
def useless(tmp_path_factory):
    """Return the planted run of a model that never knows anything."""
    with pytest.MonkeyPatch.context() as environment, sitting(lambda _: "I don't know.") as bench:
        environment.setenv("OPENAI_API_KEY", "none")
        return reader.load(ran(planted(tmp_path_factory.mktemp("useless"), bench.url, MANY)).folder)


class TestTheReport:
    def test_where_a_gain_is_ruled_out_it_advises_against_work_on_retrieval(self, useless):
        view = View(useless)
        told = [each for each in advice(view, view.cells[0]) if each.title == ADVISED]

        assert [(each.mends, each.of) for each in told] == [(MANY, MANY)]
        # No question of 80 differs: 1 - 0.025 ** (1 / 80).
        assert "A gain of more than 0.045 can be ruled out." in told[0].text
        assert told[0].text.endswith(
            f"{MANY} questions of {MANY} are not answered right even then."
        )

    def test_a_gain_that_is_not_shown_is_not_ruled_out(self):
        wide = DifferenceEstimate(
            n=156, unpaired=0, family=9, reason="", difference=0.05, high=0.10
        )
        narrow = replace(wide, difference=0.01, high=0.03)
        few = replace(wide, n=7, difference=0.0, high=None, reason="n < 6", wins=1, losses=1)
        none = replace(wide, n=71, difference=0.0, high=None, wins=0, losses=0)

        assert [max_plausible_gain(each) for each in (wide, narrow, few)] == [0.10, 0.03, 1.0]
        assert max_plausible_gain(none) == pytest.approx(1 - 0.025 ** (1 / 71))
        assert max_plausible_gain(none) > MIN_USEFUL_GAIN > max_plausible_gain(replace(none, n=72))


class TestScoringAgain:
    def test_asks_the_judge_nothing_that_it_has_said(self, tmp_path, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        with sitting() as bench:
            changes = {"judge": bench.settings(), "metrics": ["token_f1", "correctness"]}
            stored = one(tmp_path, **changes)
            before = len(bench.asked)
            run = api.score(stored.folder)

            assert len(bench.asked) == before
        assert run.oracle == stored.run.oracle
        assert run.oracle[0].scores["correctness"].mean == 1.0
