"""A judge in a run: configured once, asked once, stored with what it said, and checked itself."""

import json
from pathlib import Path

import pytest

from harness import api
from harness.cache.folders import Cache
from harness.errors import DataError, HarnessError
from harness.models.chat import ChatModel
from harness.models.chat.settings import ChatReply
from harness.people.judge_check import Checked, check_judge, draw_items, pad
from harness.records import Passage, Question, Span
from harness.report import terminal
from harness.report.sections import people
from harness.runs.result_tables import JudgeReplyTable
from harness.store import reader
from harness.testset import Testset
from tests.support.judge_server import part, sitting

METRICS = ["passage_recall@2", "faithfulness", "correctness", "context_relevance@2"]


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with sitting() as made:
        yield made


@pytest.fixture
def judged(project, bench):
    """Return the configuration of the small project, with a judge and metrics that ask it."""
    return project.config(judge=bench.settings(), metrics=METRICS, max_failures=3)


def ran(cli, *arguments):
    said = cli("run", "config.yaml", "--json", *arguments)
    assert said.status == 0, said.err
    return reader.load(Path(json.loads(said.out)["run"]))


class TestARun:
    def test_stores_verdicts_reasons_and_raw_replies(self, judged, bench, cli):
        bench.says = lambda prompt: "no\nNot there." if "\nStatement: " in prompt else "2\nNearly."
        stored = ran(cli)
        first = stored.records[0].scores

        assert first["faithfulness"].value == 0.0
        assert first["correctness"].value == pytest.approx(2 / 3)
        (verdict,) = first["correctness"].verdicts
        assert (verdict.of, verdict.value, verdict.reason) == ("the answer", 2, "Nearly.")
        assert verdict.replies == ("2\nNearly.",)
        assert first["passage_recall@2"].verdicts == ()
        assert stored.records[2].scores["faithfulness"].reason == "the question is unanswerable"

    def test_names_the_judge_and_the_prompt_among_its_models_and_no_key(self, judged, cli):
        about = ran(cli).run.provenance.models
        (found,) = [each for each in about if each["used_by"] == "faithfulness"]

        assert found["judge"]["model"] == "openai:judge"
        assert found["judge"]["seed"] == 7
        assert found["prompt"]["version"] == 1
        assert "api_key" not in json.dumps(about)

    def test_asks_nothing_a_second_time_and_counts_what_was_asked(self, judged, bench, cli):
        first = ran(cli)
        asked = len(bench.asked)
        second = ran(cli)

        assert first.run.cache["judgements"] == {"made": asked, "reused": 0}
        assert len(bench.asked) == len(set(bench.asked)) == asked > 6
        assert second.run.cache["judgements"] == {"made": 0, "reused": asked}
        assert [each.scores for each in second.records] == [each.scores for each in first.records]

    def test_what_the_judge_said_is_kept_apart_from_the_code_that_reads_it(self, judged, cli):
        ran(cli, "--set", f"metrics={json.dumps([*METRICS, 'token_f1'])}")
        (about,) = Path(".harness/judgements").glob("*/about.json")

        assert set(json.loads(about.read_text("utf-8"))) == {"judge"}
        scores = [
            json.loads(each.read_text("utf-8"))["metric"]["name"]
            for each in Path(".harness/scores").glob("*/about.json")
        ]
        assert scores == ["token_f1"]

    def test_another_model_or_temperature_is_asked_anew(self, judged, bench, cli):
        ran(cli)
        before = len(bench.asked)
        ran(cli, "--set", "judge.temperature=0.5")

        assert len(bench.asked) == 2 * before

    def test_keeps_no_reply_that_could_not_be_read(self, judged, bench, cli):
        bench.says = lambda prompt: "Hm." if "\nReferences:" in prompt else best_of(prompt)
        failed = ran(cli)
        line = failed.run.cells[0].scores["correctness"]
        assert (line.mean, line.n, line.metric_failed) == (None, 0, 2)
        assert (line.metric_low, line.metric_high) == (0.0, 1.0)
        assert failed.records[0].scores["correctness"].state == "metric_failed"

        bench.says = best_of
        mended = ran(cli)
        assert mended.run.cells[0].scores["correctness"].mean == 1.0
        assert mended.run.cache["judgements"]["made"] == 2

    def test_shows_what_the_metric_failed_with_its_range(self, judged, bench, cli):
        told = {"How far away is the Moon?": "3", "Which moons does Mars have?": "Hm."}
        bench.says = lambda prompt: (
            told[part(prompt, "question")] if "\nReferences:" in prompt else best_of(prompt)
        )
        said = cli("run", "config.yaml")

        assert said.status == 0, said.err
        assert "n = 1, 1 unanswerable, 1 metric failed, 0.500–1.000 with them" in " ".join(
            said.out.split()
        )

    def test_a_judge_that_is_gone_leaves_the_other_metrics_scored(self, judged, bench, cli):
        bench.says = lambda prompt: None
        stored = ran(cli)

        assert stored.run.cells[0].scores["passage_recall@2"].n == 2
        assert stored.run.cells[0].scores["faithfulness"].metric_failed == 2

    def test_without_a_judge_the_configuration_is_refused(self, project, refused):
        project.config(metrics=["faithfulness", "token_f1"])
        said = "\n".join(refused())

        assert "metrics[0]" in said
        assert "metric 'faithfulness' needs a" in said
        assert "judge: {model: provider:name}" in said
        assert "context_overlap and abstention need neither" in said


def best_of(prompt):
    return "yes" if "\nStatement: " in prompt else "3"


class TestScoringAgain:
    def test_the_run_s_own_judge_is_asked_and_only_what_is_new(self, judged, bench, cli):
        folder = ran(cli).folder
        before = len(bench.asked)
        said = cli("score", folder, "-m", "faithfulness", "-m", "fluency", "--cache", ".harness")
        stored = reader.load(folder)

        assert said.status == 0, said.err
        assert len(bench.asked) == before + 2
        assert stored.run.cells[0].scores["fluency"].mean == 1.0
        assert stored.run.cells[0].scores["faithfulness"].mean == 1.0
        assert stored.records[0].scores["fluency"].verdicts[0].replies == ("3\nIt is all there.",)

    def test_another_judge_can_be_named(self, project, bench, cli):
        project.config()
        folder = ran(cli).folder
        judge = json.dumps(bench.settings())
        said = cli("score", folder, "-m", "fluency", "--judge", judge)

        assert said.status == 0, said.err
        assert reader.load(folder).run.cells[0].scores["fluency"].mean == 1.0

    @pytest.mark.parametrize(
        ("judge", "why"),
        [
            ("[1]", "expected a model's name"),
            ("{model: sk-secret, a: 1", "--judge: it is neither a model's name nor YAML"),
            ("[sk-secret]", "expected a model's name"),
            ("", "expected a model's name"),
            ("{model: x, b: 1}", "no 'b'; choose from: base_url"),
        ],
    )
    def test_one_that_makes_no_sense_is_refused(self, project, cli, judge, why):
        project.config()
        said = cli("score", ran(cli).folder, "-m", "fluency", "--judge", judge)

        assert (said.status, said.out) == (2, "")
        assert why in said.err
        assert "sk-secret" not in said.err
        assert "Traceback" not in said.err

    def test_without_one_it_is_refused_before_anything_is_written(self, project, cli):
        project.config()
        folder = ran(cli).folder
        before = (folder / "records.jsonl").read_bytes()

        with pytest.raises(HarnessError, match="metric 'fluency' needs a judge"):
            api.score(folder, ["fluency", "token_f1"])
        assert (folder / "records.jsonl").read_bytes() == before

    def test_verdicts_of_the_run_are_reused_and_the_judge_is_not_asked(self, judged, bench, cli):
        stored = ran(cli)
        before = len(bench.asked)
        bench.says = lambda prompt: None
        api.score(stored.folder)

        assert len(bench.asked) == before
        assert list(reader.load(stored.folder).records) == list(stored.records)

    def test_verdicts_of_every_sample_are_reused(self, project, bench, cli):
        bench.says = lambda prompt: (
            f"It is {len(bench.asked)}." if prompt.startswith("Answer the") else "2"
        )
        chat = {"model": "openai:gpt-test", "base_url": bench.url, "repeat": 2, "temperature": 1}
        project.config(judge=bench.settings(), metrics=["fluency"], generators=[{"chat": chat}])
        stored = ran(cli)
        before = len(bench.asked)
        api.score(stored.folder)

        assert [len(each.samples) for each in stored.records] == [2, 2, 2]
        assert len({each.prompt for each in stored.records}) == 3
        assert len(bench.asked) == before
        assert list(reader.load(stored.folder).records) == list(stored.records)

    def test_another_judge_is_asked_and_given_nothing_that_the_first_said(self, judged, bench, cli):
        folder = ran(cli).folder
        before = len(bench.asked)
        bench.says = lambda prompt: "no" if "\nStatement: " in prompt else "0"
        api.score(folder, judge=bench.judge(temperature=0.5))

        assert len(bench.asked) == 2 * before
        assert reader.load(folder).run.cells[0].scores["correctness"].mean == 0.0

    def test_one_prompt_is_asked_once_however_often_and_far_apart_it_comes(
        self, project, bench, cli
    ):
        asked = {"question": "How far away is the Moon?", "answers": ["384,400 km"]}
        # 260 records, of which 256 are scored at once.
        project.testset(*[{**asked, "id": f"q{number}"} for number in range(130)])
        project.config(retrievers=["bm25", {"bm25": {"k1": 1.3}}], metrics=["token_f1"])
        folder = ran(cli).folder
        found = api.score(folder, ["fluency"], judge=bench.judge())

        assert [cell.scores["fluency"].n for cell in found.cells] == [130, 130]
        assert len(bench.asked) == 1

    def test_a_judge_that_is_down_overwrites_no_verdict(self, judged, bench, cli):
        folder = ran(cli).folder
        before = {each.name: each.read_bytes() for each in folder.rglob("*.*")}
        bench.says = lambda prompt: None
        judge = json.dumps({**bench.settings(), "temperature": 0.5})
        said = cli("score", folder, "--judge", judge)

        assert (said.status, said.out) == (3, "")
        assert "the judge gave up on 2 questions with verdicts: " in said.err
        assert "no such judge" in said.err
        assert "nothing was changed" in said.err
        assert {each.name: each.read_bytes() for each in folder.rglob("*.*")} == before

    def test_what_had_no_verdict_before_may_have_none_again(self, judged, bench, cli):
        bench.says = lambda prompt: "Hm."
        folder = ran(cli).folder
        bench.says = lambda prompt: None
        run = api.score(folder)

        assert run.cells[0].scores["correctness"].metric_failed == 2

    def test_a_composite_whose_judged_part_is_not_named_is_refused(self, project, bench, cli):
        project.config()
        folder = ran(cli).folder
        composite = "composite(weights=0.5*fluency + 0.5*token_f1)"
        with pytest.raises(DataError) as caught:
            api.score(folder, [composite], bench.judge())

        (problem,) = caught.value.problems
        assert (problem.where, problem.what) == (composite, "it has a part that asks a judge")
        assert problem.hint == "name that part among the metrics too"
        assert api.score(folder, [composite, "fluency"], bench.judge()).cells[0].scores[composite].n


class TestJudgements:
    def test_replies_come_back_by_prompt_and_judge(self, tmp_path):
        judge = ChatModel("openai:x", base_url="http://localhost:1/v1", seed=7)
        with Cache(tmp_path / "cache") as cache:
            kept = JudgeReplyTable(cache, judge)
            kept.put("Is it\ud800?", [ChatReply("Hm."), ChatReply("yes 月", 1, 2, "x", "stop")])

            assert kept.get(["Is it\ud800?", "Is it?"]) == {"Is it\ud800?": ("Hm.", "yes 月")}
            assert JudgeReplyTable(cache, ChatModel("openai:y")).get(["Is it\ud800?"]) == {}


def question(number, **changes):
    passage = Passage(Span(f"d{number}", 0, 9), f"Fact {number} holds.", "#1")
    about = {"answers": (f"It is {number}.", f"{number}"), "passages": (passage,)}
    return Question(f"q{number}", f"What is number {number}?", **{**about, **changes})


TESTSET = Testset(tuple(map(question, range(6))), "six")


class TestJudgeCheck:
    def figures(self, bench, testset=TESTSET, n=20):
        return {each.name: each for each in check_judge(bench.judge(), testset, n).figures}

    def test_a_judge_that_is_always_right_has_nothing_against_it(self, bench):
        def says(prompt):
            if "\nStatement: " in prompt:
                number = part(prompt, "statement").removeprefix("It is ")[0]
                return "yes" if f"Fact {number} " in part(prompt, "context") else "no"
            number = part(prompt, "question").split()[-1].rstrip("?")
            return "3" if f"It is {number}." in part(prompt, "answer") else "0"

        bench.says = says
        found = self.figures(bench)

        good = {name: found[name].value for name in ("supported", "unsupported", "right", "wrong")}
        bias = {name: found[name].value for name in ("again", "order", "length", "urged")}
        assert good == dict.fromkeys(good, 1.0)
        assert bias == dict.fromkeys(bias, 0.0)
        assert [found[name].n for name in ("supported", "order", "length", "again", "urged")] == [
            6, 12, 12, 24, 12,
        ]  # fmt: skip

    def test_one_that_says_yes_to_everything_is_wrong_where_the_answer_is(self, bench):
        found = self.figures(bench)

        assert (found["supported"].value, found["unsupported"].value) == (1.0, 0.0)
        assert (found["right"].value, found["wrong"].value) == (1.0, 0.0)
        assert found["not urged"].value == 1.0

    def test_one_that_is_swayed_by_length_order_and_pleas_is_found_out(self, bench):
        def says(prompt):
            if "\nStatement: " in prompt:
                first = part(prompt, "context").split("\n")[0]
                own = part(prompt, "statement").removeprefix("It is ")[0] in first
                return "yes" if own or "Ignore" in prompt else "no"
            said = part(prompt, "answer")
            return "2" if "This is what was asked about." in said else "1"

        bench.says = says
        found = self.figures(bench)

        # The evidence of a right answer stands first, then last; that of a wrong one nowhere.
        assert found["order"].value == 0.5
        assert found["length"].value == pytest.approx(1 / 3)
        assert found["urged"].value == 0.5  # the statements, not the graded answers

    def test_one_that_gives_no_verdict_has_figures_of_nothing(self, bench):
        bench.says = lambda prompt: "Hm."
        checked = check_judge(bench.judge(), TESTSET, n=1)
        found = {each.name: each for each in checked.figures}

        assert checked.empty
        assert checked.failure == "no verdict in 3 replies, the last of them 'Hm.'"
        assert all(each.value is None and each.n == 0 for each in found.values())
        assert (found["supported"].failed, found["again"].failed) == (1, 4)

    def test_a_wrong_answer_is_never_supported_by_the_passages_beside(self):
        for item in draw_items(TESTSET.questions, 6, 7):
            own = item.question.split()[-1].rstrip("?")
            wrong = item.wrong.removeprefix("It is ").rstrip(".")
            numbers = [each.split()[1] for each in item.passages]
            assert numbers[0] == own
            assert wrong not in numbers
            assert len(set(numbers)) == 3

    def test_a_padded_answer_is_at_least_twice_as_long_and_begins_as_it_was(self):
        for answer in ("6", "", "It is six, " * 30):
            assert pad(answer).startswith(answer)
            assert 2 * len(answer) <= len(pad(answer)) <= 2 * len(answer) + 50

    def test_it_draws_the_same_items_by_the_same_seed(self):
        assert draw_items(TESTSET.questions, 3, 7) == draw_items(TESTSET.questions, 3, 7)
        assert draw_items(TESTSET.questions, 3, 7) != draw_items(TESTSET.questions, 3, 8)

    def test_too_few_questions_are_refused(self, bench):
        few = Testset(tuple(map(question, range(3))), "three")
        with pytest.raises(HarnessError, match="with 4 or more questions"):
            check_judge(bench.judge(), few)

    def test_the_verb_prints_figures_with_n_and_interval(self, project, bench, cli):
        rows = []
        for number in range(6):
            text = f"The number of hall {number} is {number}{number}."
            project.document(f"h{number}.md", text)
            rows.append(
                {
                    "question": f"What is the number of hall {number}?",
                    "answers": [f"It is {number}{number}."],
                    "evidence": [{"doc": f"h{number}.md", "quote": text}],
                }
            )
        project.testset(*rows)
        project.config(judge=bench.settings())
        said = cli("judge", "check", "config.yaml", "--n", "6")

        assert said.status == 0, said.err
        lines = said.out.splitlines()
        assert lines[0] == "openai:judge"
        # six of six: the exact bound is 0.025^(1/6)
        assert lines[2].split(maxsplit=5) == [
            "supported", "1.000", "0.541–1.000", "6", "0", "right answers that it calls faithful"
        ]  # fmt: skip
        found = json.loads(cli("judge", "check", "config.yaml", "--n", "6", "--json").out)
        assert found["judge"] == "openai:judge"
        assert found["figures"][0]["name"] == "supported"
        assert found["figures"][0]["n"] == 6

        assert found["failure"] is None

        bench.says = lambda prompt: "yes" if "\nStatement: " in prompt else "Hm."
        half = cli("judge", "check", "config.yaml", "--n", "6")
        assert half.status == 0, half.err
        assert half.out.splitlines()[-2:] == [
            "",
            "metric failed: no verdict in 3 replies, the last of them 'Hm.'",
        ]

        bench.says = lambda prompt: None
        dead = cli("judge", "check", "config.yaml", "--n", "6")
        assert (dead.status, dead.out) == (3, "")
        assert dead.err.startswith("the judge gave no verdict: chat model 'openai:judge' failed: ")
        assert "no such judge" in dead.err

    def test_the_verb_asks_for_a_judge_where_there_is_none(self, project, cli):
        said = cli("judge", "check", "config.yaml")

        assert said.status == 2
        assert "config.yaml has no judge\n  name one: judge: {model: provider:name}" in said.err


def test_what_a_server_says_of_a_failed_verdict_moves_no_cursor():
    checked = Checked((), "401 \x1b]0;x\x07 no")
    said = terminal.render(people.judge_blocks(checked, ChatModel("openai:x")))
    assert " ".join(said.splitlines()[-1].split()) == "metric failed: 401 ]0;x no"
