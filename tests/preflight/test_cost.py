"""What a run has still to do: counted before it, and held against what it then did."""

import csv
import json
import math
from pathlib import Path

import pytest

from harness import api
from harness.comparison.gate import judge_run
from harness.config.gate_rules import Gate, Limits
from harness.config.resolved import embedding_model
from harness.config.run_config import load
from harness.embedders import embedders
from harness.errors import ConfigError, RunError
from harness.metrics.judge import fill_prompt
from harness.preflight.cost import forecast, planned_calls
from harness.preflight.cost.planned_calls import Forecast, PlannedCalls
from harness.report import preflight_blocks
from harness.report.gate import describe
from harness.runs import runner
from harness.store import exports, reader
from harness.store.run_file import Price
from harness.text import numbers
from tests.support import embedding_server
from tests.support.chat_server import completion, serving
from tests.support.small import project

FAKE = "langchain_core.embeddings:DeterministicFakeEmbedding"
EMBEDDER = {"langchain": {"cls": FAKE, "arguments": {"size": 8}}}
"""Vectors that are kept, of a class that knows nothing."""
PRICE = "currency: USD\nmodels: {'openai:gpt-test': {input: 1000, output: 2000}}\n"
METRICS = ["passage_recall@2", "token_f1"]


@pytest.fixture
def server():
    with serving() as serving_one:
        yield serving_one


@pytest.fixture
def place(tmp_path, server):
    (tmp_path / "prices.yaml").write_text(PRICE)
    chat = {"model": "openai:gpt-test", "base_url": server.url, "max_tokens": 20, "retries": 0}
    project(
        tmp_path,
        chat=chat,
        judge=chat,
        embedders=[EMBEDDER],
        generators=["chat"],
        metrics=METRICS,
        prices="prices.yaml",
    )
    return tmp_path / "config.yaml"


def prepared(place, *overrides, limit=None):
    return runner.prepare(load(place, overrides, {}), limit)


def run(place, *overrides, limit=None, note=lambda text: None):
    return api.run(prepared(place, *overrides, limit=limit), lambda *_: None, note=note).run


def ahead(place, *overrides):
    return forecast(prepared(place, *overrides), deep=True)


def calls(found, purpose="answers"):
    return next(each for each in found.calls if each.purpose == purpose)


def lines(found):
    """Return what is said of a forecast, a paragraph each."""
    return [f"{block.label} {block.text}".lstrip() for block in preflight_blocks.to_do(found)]


def figures(found):
    """Return documents, chunks, chunks and questions to embed, answers, and whether exact."""
    (embedding,) = found.embeddings
    answers = calls(found)
    cut = sum(found.chunks)
    asked = (embedding.chunks, embedding.questions, answers.most, answers.exact)
    return (found.documents, cut, *asked)


def test_counts_are_exact_at_first_with_half_of_it_kept_and_with_all(place, server):
    # 3 documents of 60 to 75 characters are 2 chunks of 60 each, and one section each;
    # 2 chunkers x 2 retrievers ask 5 questions
    assert figures(ahead(place)) == (3, 9, 9, 5, 20, False)

    run(place, limit=2)

    # 3 questions are left, in 4 cells; the indexes are there
    assert figures(ahead(place)) == (3, 9, 0, 3, 12, False)

    run(place)

    assert figures(ahead(place)) == (3, 9, 0, 0, 0, True)
    assert lines(ahead(place)) == [preflight_blocks.NOTHING]
    asked = len(server.asked)
    said = []
    run(place, note=said.append)
    assert len(server.asked) == asked
    assert preflight_blocks.NOTHING in said


def test_what_is_expected_of_kept_rankings_is_what_is_then_asked(place, server):
    run(place)
    other = "chat.temperature=0.5"
    expected, before = calls(ahead(place, other)), len(server.asked)

    done = run(place, other)

    assert expected.exact
    assert expected.most == len(server.asked) - before
    assert 5 < expected.most <= 20
    sent = [each["messages"][0]["content"] for each in server.asked[before:]]
    assert expected.tokens_in == math.ceil(sum(planned_calls.estimate(each).about for each in sent))
    assert expected.most_in == sum(len(each.encode()) for each in sent)
    assert expected.most_out == 20 * expected.most
    assert expected.guessed
    # what each answer took, counted once in each cell: 57 in and 9 out, at 1000 and 2000
    for cell in done.cells:
        assert (cell.spent.calls, cell.spent.tokens_in, cell.spent.tokens_out) == (5, 285, 45)
        assert cell.spent.money == pytest.approx(5 * (57 * 1000 + 9 * 2000) / 1e6)
    assert done.prices.models == {"openai:gpt-test": Price(input=1000, output=2000)}


def test_kept_answers_tell_how_long_replies_are_and_how_many_tokens_words_make(place):
    run(place, limit=2)
    found = calls(ahead(place))

    assert not found.guessed
    assert found.tokens_out == 9 * 12
    assert found.most_out == 20 * 12
    assert found.seconds > 0
    assert found.money == pytest.approx((found.tokens_in * 1000 + 108 * 2000) / 1e6)
    assert found.most_money == pytest.approx((found.most_in * 1000 + 240 * 2000) / 1e6)


def test_rewordings_and_verdicts_are_counted_as_they_are_then_asked(place, server):
    server.replies = [(200, "3 it does")]
    searched = "retrievers=[{multi_query: {of: bm25}}]"
    found = ahead(place, searched)
    assert (calls(found, "reworded questions").most, calls(found).most) == (5, 10)
    run(place, searched)
    judged = "metrics=[answer_relevance, context_relevance@2, token_f1]"
    expected, before = ahead(place, searched, judged), len(server.asked)

    run(place, searched, judged)

    assert [each.purpose for each in expected.asking] == ["verdicts"]
    verdicts = calls(expected, "verdicts")
    assert verdicts.exact
    assert verdicts.most == len(server.asked) - before > 0
    # 4 answers and 6 or 7 hits of 2 chunkers, each perhaps asked for three times in either cell
    assert verdicts.most_out == 3 * 20 * 21
    assert ahead(place, searched, judged).nothing


def test_rewordings_that_cells_share_are_counted_once(place):
    changes = ("retrievers=[{multi_query: {of: dense, n: 3}}]", "generators=[chat, extractive]")
    found = ahead(place, *changes)

    (embedding,) = found.embeddings
    assert (embedding.questions, bool(embedding.rewordings)) == (5 + 3 * 5, True)
    assert calls(found, "reworded questions").most == 5


def test_verdicts_that_cannot_be_read_and_those_of_the_oracle_are_within_the_bound(place, server):
    server.replies = [(200, "Perhaps.")]
    changes = ("metrics=[answer_relevance, token_f1]", "oracle=true", "retrievers=[bm25]")
    changes = (*changes, "max_failures=9")
    first = ahead(place, *changes)
    run(place, *changes)
    judge = fill_prompt("answer_relevance", question="", answer="").encode()[-60:]
    judged = sum(_sent(each).endswith(judge) for each in server.asked)

    bound = calls(first, "verdicts").most_out // 20
    # 4 questions in each of 2 cells, with all evidence and with nothing, three times each
    assert (bound, judged) == (3 * 4 * 4, 3 * 4 * 4)
    again, before = calls(ahead(place, *changes), "verdicts"), len(server.asked)
    run(place, *changes)
    assert (again.exact, again.most_out // 20) == (True, len(server.asked) - before)
    assert sum(len(_sent(each)) for each in server.asked[before:]) == again.most_in


def _sent(asked):
    return asked["messages"][0]["content"].encode()


def test_the_oracle_asks_for_what_has_passages_and_for_everything_from_nothing(place):
    found = ahead(place, "oracle=true")
    assert (calls(found, "oracle answers").most, calls(found).most) == (4 + 5, 20)


def test_several_answers_to_a_question_are_as_many_calls(place):
    found = ahead(place, "generators=[{chat: {repeat: 3, temperature: 1.0}}]")
    assert calls(found).most == 60


def test_pairs_to_rerank_are_those_retrieved(place):
    rerank = "rerankers=[{langchain: {cls: 'tests.support.compressors:Longest'}}]"
    assert ahead(place).pairs == 0
    plain = forecast(prepared(place, rerank), deep=False)
    assert (plain.pairs, plain.pairs_exact, plain.unlooked) == (4 * 5 * 5, False, True)


def test_without_deep_nothing_is_written_and_what_models_name_is_not_taken_off(place):
    found = forecast(prepared(place), deep=False)

    (embedding,) = found.embeddings
    assert (embedding.chunks, embedding.questions) == (9, 5)
    assert found.chunks == [6, 3]
    assert found.unlooked
    assert not (place.parent / "cache").exists()
    *rest, last = lines(found)
    assert last.endswith("looked up by --deep")
    assert rest == lines(ahead(place))


def test_with_fresh_nothing_counts_as_kept(place):
    run(place)
    found = forecast(prepared(place), deep=True, fresh=True)
    assert figures(found) == (3, 9, 9, 5, 20, False)


def test_of_a_large_corpus_the_same_is_said_with_and_without_deep(place):
    for number in range(40):
        text = f"# Page {number}\n\n" + "word " * 4_000
        (place.parent / "corpus" / f"{number:02}.md").write_text(text)

    *rest, _ = lines(forecast(prepared(place), deep=False))

    assert rest == lines(forecast(prepared(place), deep=True))
    assert "; 13,449 chunks; 94 chunks and 5 questions" in rest[0]  # many are the same text


def refused(place, *overrides):
    with pytest.raises(ConfigError) as raised:
        run(place, *overrides)
    (problem,) = raised.value.problems
    return problem


def test_text_without_spaces_has_a_token_for_four_bytes_and_never_more_than_its_bytes():
    assert (
        planned_calls.estimate("车" * 400).about,
        planned_calls.estimate("车" * 400).most,
    ) == (300, 1200)
    assert planned_calls.estimate("a day pass").about == 4.5
    assert planned_calls.estimate("!!!") == planned_calls.TokenCount(3, 3)


def test_what_is_sent_is_no_more_than_was_foreseen_whatever_the_script(place, server):
    text = "这是一个关于城市自行车租赁服务的说明文件" * 40
    (place.parent / "corpus" / "zh.md").write_text(f"{text}。{text}", encoding="utf-8")
    alone = ("chunkers=[{fixed: {size: 200}}]", "retrievers=[dense]", "embedders=[hashing]")
    found = calls(ahead(place, *alone))

    run(place, *alone)

    sent = sum(len(_sent(each)) for each in server.asked)
    assert sent <= found.most_in
    # 2 chunks of 200 characters, of three bytes each, for each of 5 questions
    assert 5 * 2 * 200 * 3 <= found.most_in <= 5 * (2 * 200 * 3 + 1000)
    # the context that is read is cut by its budget of words
    expected = sum(planned_calls.estimate(_sent(each).decode()).about for each in server.asked)
    assert expected <= found.tokens_in <= expected + 5 * 250


def test_a_run_of_which_nothing_is_kept_is_never_said_to_be_kept(place):
    plain = ("retrievers=[bm25]", "generators=[extractive]", "metrics=[passage_recall@2]")
    assert lines(ahead(place, *plain)) == [
        "to do: 3 documents; 9 chunks",
        "no model is asked",
    ]
    run(place, *plain)
    assert lines(ahead(place, *plain)) == [preflight_blocks.NOTHING]


def test_what_is_not_in_the_time_is_named(place):
    scored = "metrics=[passage_recall@2, semantic_similarity]"
    plain = ("retrievers=[bm25]", "generators=[extractive]", scored)
    assert lines(ahead(place, *plain))[1] == ("time: not in it: scoring with semantic_similarity")


class TestHostedEmbedding:
    @pytest.fixture
    def hosted(self):
        with embedding_server.serving() as one:
            yield one

    def given(self, hosted):
        arguments = {"model": "text-big", "base_url": hosted.url, "max_retries": 0}
        arguments |= {"check_embedding_ctx_length": False}
        spec = {"cls": embedding_server.OPENAI, "arguments": arguments}
        return "embedders=" + json.dumps([{"langchain": spec}])

    def test_it_is_counted_in_money_as_what_is_then_sent(self, place, hosted, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "x")
        prices = place.parent / "prices.yaml"
        prices.write_text(PRICE.replace("{'", "{'openai:text-big': {input: 100, output: 0}, '"))
        given = (self.given(hosted), "generators=[extractive]")
        found = ahead(place, *given)
        (embedding,) = found.embeddings

        run(place, *given)

        sent = [text for each in hosted.asked for text in each["texts"]]
        assert len(sent) == 9 + 5
        assert embedding.sent.most == sum(len(each.encode()) for each in sent)
        assert embedding.tokens == math.ceil(
            sum(planned_calls.estimate(each).about for each in sent)
        )
        assert found.money == pytest.approx(embedding.tokens * 100 / 1e6)
        assert found.most_money == pytest.approx(embedding.sent.most * 100 / 1e6)
        assert lines(found)[:2] == [
            "to do: 3 documents; 9 chunks; 9 chunks and 5 questions to embed with openai:text-big",
            "time: not known yet for embedding with openai:text-big",
        ]
        assert ahead(place, *given).hosted == []

    def test_without_a_price_max_cost_refuses_and_else_it_is_left_out(
        self, place, hosted, monkeypatch
    ):
        monkeypatch.setenv("OPENAI_API_KEY", "x")
        given = self.given(hosted)
        problem = refused(place, given, "max_cost=100")
        assert "has no price of 'openai:text-big', which texts would be" in problem.what
        assert problem.hint.endswith('"openai:text-big": {input: 0.1, output: 0.4}')
        assert "max_cost" in refused(place, given, "max_cost=9", "generators=[extractive]").where
        assert not hosted.asked
        said = lines(ahead(place, given))
        assert said[-1].startswith("money: about USD")
        assert said[-1].endswith("; not in it: embedding by openai:text-big")
        alone = lines(ahead(place, given, "generators=[extractive]"))
        assert alone[-1] == "money: not known; the price file has no price of openai:text-big"

    def test_a_model_goes_by_its_package_and_the_argument_that_names_it(self):
        def named(cls, **arguments):
            return embedding_model(
                embedders.build({"langchain": {"cls": cls, "arguments": arguments}})
            )

        assert named("langchain_cohere:CohereEmbeddings", model_name="m") == "cohere:m"
        assert named("ours.embedding:Ours") == "ours:Ours"
        assert named(FAKE, size=8) is None
        assert embedding_model(embedders.build("hashing")) is None


class TestMaxCost:
    def test_a_run_that_is_expected_to_cost_more_is_refused_before_anything_is_asked(
        self, place, server
    ):
        found = ahead(place)
        below, above = found.money * 0.99, found.money * 1.01

        problem = refused(place, f"max_cost={below:f}")

        assert problem.where == "--set max_cost"
        assert problem.what.endswith(": 20 answers by openai:gpt-test")
        assert (len(server.asked), (place.parent / "reports").exists()) == (0, False)
        noted = []
        run(place, f"max_cost={above:f}", note=noted.append)
        assert found.most_money > above
        bound, limit = (numbers.money(amount, "USD") for amount in (found.most_money, above))
        assert f"warning: the run may cost {bound}; it ends once it has spent {limit}" in noted
        run(place, "max_cost=0.000001")  # all is kept, so it costs nothing

    def test_a_model_without_a_price_is_named_with_the_line_to_add(self, place, server):
        (place.parent / "prices.yaml").write_text(PRICE.replace("gpt-test", "gpt-tset"))
        problem = refused(place, "max_cost=100")
        assert "has no price of 'openai:gpt-test', which 20 calls would ask" in problem.what
        assert problem.hint == (
            "it has one of 'openai:gpt-tset'; add below `models`, with what it costs you: "
            '"openai:gpt-test": {input: 0.1, output: 0.4}'
        )
        assert "no price file is named" in refused(place, "max_cost=100", "prices=null").what
        assert not server.asked

    def test_a_local_file_needs_no_price_and_nor_does_a_run_without_models(self, place):
        assert run(place, "max_cost=0.01", "generators=[extractive]").status == "finished"

    def test_more_than_was_foreseen_ends_the_run_which_can_go_on(self, place, server):
        dear = completion("It is free.")
        dear["usage"] = {"prompt_tokens": 10**6, "completion_tokens": 9, "total_tokens": 10**6}
        server.replies = [(200, "It is free."), (200, json.dumps(dear).encode())]
        with pytest.raises(RunError, match=r"has spent USD 1,000, more than `max_cost` allows"):
            run(place, "max_cost=100", "chat.concurrent=1")
        assert len(server.asked) == 2
        (folder,) = (each for each in (place.parent / "reports").iterdir() if each.is_dir())
        assert reader.load(folder).run.status == "failed"

        server.replies = [(200, "It is free.")]
        run(place, "max_cost=1000000", "chat.concurrent=1")
        (again,) = (each for each in (place.parent / "reports").iterdir() if each.is_dir())
        assert (again, reader.load(again).run.status) == (folder, "finished")


def test_reports_gates_and_exports_say_what_was_paid_and_rescoring_keeps_it(place):
    folder = api.run(prepared(place), lambda *_: None).folder
    page = Path(folder / "report.md").read_text("utf-8")
    stored = reader.load(folder)
    columns, *rows = csv.reader(exports.as_csv(stored))

    assert columns[-3:] == ["tokens_in", "tokens_out", "money"]
    assert {(*row[-3:-1], round(float(row[-1]), 6)) for row in rows} == {("57", "9", 0.075)}
    for most, met in ((0.0749, "missed"), (0.0751, "pass")):
        rules = Gate(cell=stored.run.cells[0].name, max=Limits(money=most))
        (verdict,) = judge_run.judge_run(folder, rules).verdicts
        assert (verdict.outcome, verdict.rule) == (met, f"money: at most {most:g}")
        assert "the mean of a question, 0.0750, is" in describe(verdict)
    again = api.score(folder, ["token_f1"])
    assert [each.spent for each in again.cells] == [each.spent for each in stored.run.cells]
    assert again.prices == stored.run.prices

    # 57 in and 9 out an answer, at 1000 and 2000 for a million
    assert "USD 0.0750" in page
    assert "Prices in USD for a million tokens: openai:gpt-test 1,000 in, 2,000 out" in page
    assert "Money, mean" in page


def made(**changes):
    asked = {
        "purpose": "answers", "model": "openai:m", "likely": 10, "most": 20, "exact": False,
        "tokens_in": 1000, "most_in": 2000, "tokens_out": 100, "most_out": 400, "guessed": False,
        "price": Price(input=1, output=10),
    }  # fmt: skip
    return PlannedCalls(**{**asked, **changes})


def said(*asked, **changes):
    rest = {"chunks": [], "embeddings": [], "pairs": 0, "pairs_exact": True, "system_questions": []}
    given = {**rest, "documents": 1, "unlooked": False, "currency": "USD", **changes}
    return lines(Forecast(calls=asked, **given))


def test_money_is_the_sum_over_models_and_said_as_expected_and_at_most():
    local = made(model="gguf:m.gguf", price=Price(input=0, output=0), seconds=90.0)
    assert said(made(seconds=7200.0), local) == [
        "to do: 1 document",
        "about 10, at most 20 answers by openai:m: about 1,000 tokens in, about 100 out, at most "
        "400 out",
        "about 10, at most 20 answers by gguf:m.gguf: about 1,000 tokens in, about 100 out, at "
        "most 400 out",
        "time: about 2 hours for answers by openai:m + 2 minutes for answers by gguf:m.gguf",
        # (1000 x 1 + 100 x 10) / 1e6, (2000 x 1 + 400 x 10) / 1e6
        "money: about USD 0.00200, at most USD 0.00600 (gguf:m.gguf counted as 0)",
    ]


def test_money_is_not_known_where_one_price_is_not():
    assert said(made(), made(model="openai:n", price=None))[-1] == (
        "money: not known; the price file has no price of openai:n"
    )
    assert said(made(price=None), currency=None)[-1] == (
        "money: not known; name a price file: `prices: prices.yaml`"
    )
    assert said(made(), system_questions=[("bot", 3)])[-3:-2] == [
        "3 questions to ask bot; what it pays for is not known here"
    ]


def test_a_damaged_cache_is_looked_at_without_being_touched(place):
    run(place)
    cache = place.parent / "cache"
    for file in cache.glob("answers/*/rows.db*"):
        file.write_bytes(b"no database at all" * 99)
    before = {each: each.read_bytes() for each in cache.glob("answers/*/rows.db")}

    found = calls(ahead(place))

    assert before
    assert (found.exact, found.guessed) == (True, True)
    assert 5 < found.most <= 20
    assert {each: each.read_bytes() for each in before} == before
