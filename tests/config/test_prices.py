"""Price files, and the money that follows from them, by hand."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from harness.comparison.decision import first_known_cost, format_cost
from harness.comparison.operand import operand_from_run
from harness.config import prices
from harness.config.prices import PriceError
from harness.config.run_config import load
from harness.errors import ConfigError, RunError
from harness.records import AnswerSample, Usage
from harness.runs.loop import Spending
from harness.store import expenses
from harness.store.cell_results import Expenses
from harness.store.run_file import Price, PriceList
from harness.text.numbers import money
from tests.support.runs_made import stored
from tests.support.small import project

FILE = """\
currency: EUR
as_of: 2026-01-31
models:
  "openai:small": {input: 0.5, output: 2}
  "gguf:dear.gguf": {input: 1, output: 1}
"""


def read(tmp_path, text):
    path = tmp_path / "prices.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return prices.read_prices(path, "prices.yaml")


def wrong(tmp_path, text):
    with pytest.raises(PriceError) as raised:
        read(tmp_path, text)
    return [(each.where, each.what, each.hint) for each in raised.value.problems]


def test_a_price_file_gives_what_a_million_tokens_cost(tmp_path):
    found = read(tmp_path, FILE)

    assert (found.line.currency, found.line.as_of) == ("EUR", date(2026, 1, 31))
    assert found.price_of("openai:small") == Price(input=0.5, output=2)
    # 200 x 0.5 / 1e6 + 50 x 2 / 1e6
    assert expenses.tokens_cost(found.price_of("openai:small"), 200, 50) == pytest.approx(0.0002)


def test_a_hosted_model_without_a_price_is_unknown_and_a_local_file_free(tmp_path):
    found = read(tmp_path, FILE)

    assert found.price_of("openai:large") is None
    assert expenses.tokens_cost(found.price_of("openai:large"), 200, 50) is None
    assert expenses.tokens_cost(found.price_of("gguf:mine.gguf"), None, None) == 0
    assert expenses.tokens_cost(found.price_of("gguf:dear.gguf"), 1_000_000, 1_000_000) == 2
    assert expenses.tokens_cost(found.price_of("openai:small"), None, 50) is None
    asked = found.select(["openai:large", "openai:small", "gguf:mine.gguf"])
    assert asked.models == {
        "openai:small": Price(input=0.5, output=2),
        "gguf:mine.gguf": Price(input=0, output=0),
    }


def test_the_shipped_price_file_can_be_read():
    found = prices.read_prices(Path("configs/prices.yaml"), "prices.yaml")
    assert list(found.line.models) == ["openai:your-model", "gguf:your-model.gguf"]


def test_everything_wrong_is_said_at_once_with_its_line(tmp_path):
    text = """\
curency: USD
as_of: soon
models:
  gpt-4o: {input: 1, output: 2}
  "openai:a": {input: -1, outptu: 2}
  "openai:b": 3
  "openai:c": {input: true, output: .nan}
  "gguf:models/a.gguf": {input: 0, output: 0}
"""
    number = "Input should be"
    assert {(where, what) for where, what, _ in wrong(tmp_path, text)} == {
        ("line 1, curency", "unknown key 'curency'"),
        ("the file", "the key 'currency' is missing"),
        ("line 2, as_of", "must be the day they were looked up, as 2026-01-31, not 'soon'"),
        ("line 4, models.gpt-4o", "'gpt-4o' names no provider and model"),
        ("line 5, models.openai:a.outptu", "unknown key 'outptu'"),
        ("line 5, models.openai:a.input", f"{number} greater than or equal to 0, not -1"),
        ("line 5, models.openai:a", "the key 'output' is missing"),
        ("line 6, models.openai:b", f"{number} a mapping, not 3"),
        ("line 7, models.openai:c.input", f"{number} a valid number, not True"),
        ("line 7, models.openai:c.output", f"{number} a finite number, not nan"),
        ("line 8, models.gguf:models/a.gguf", "'gguf:models/a.gguf' has a folder"),
    }
    hints = {where: hint for where, _, hint in wrong(tmp_path, text)}
    assert (
        hints["line 1, curency"] == "did you mean 'currency'? choose from: as_of, currency, models"
    )
    assert hints["line 5, models.openai:a.outptu"].startswith("did you mean 'output'?")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "must hold keys, holds nothing"),
        ("[1, 2]", "must hold keys, holds list"),
        (b"\xff\xfe\x00", "cannot be read"),
        ("a: [", "is not YAML"),
        ("currency: USD\nmodels: [1]", "should be a valid dictionary, not [1]"),
        ("currency: usd\nmodels: {}", "three capital letters: EUR, not 'usd'"),
        ("currency: USD\nmodels: {'a:b': {input: 1" + "0" * 400 + ", output: 1}}", "valid number"),
        ("currency: USD\nmodels: {1: {input: 1, output: 1}}", "valid string, not 1"),
        ("a: &a [1]\na: *a", "the key 'a' is there already"),
    ],
)
def test_hostile_files_are_refused_in_words(tmp_path, text, what):
    assert any(what in said for _, said, _ in wrong(tmp_path, text))


def test_a_configuration_names_its_price_file_and_what_is_wrong_in_it(tmp_path):
    (tmp_path / "p.yaml").write_text("currency: USD\nmodels: {'a:b': {input: x, output: 1}}\n")
    config = project(tmp_path, prices="p.yaml", retrieve=0)
    with pytest.raises(ConfigError) as raised:
        load(config, ["retrieve=5"], {})
    (problem,) = raised.value.problems
    assert problem.where.endswith("p.yaml, line 2, models.a:b.input")
    with pytest.raises(ConfigError, match=r"nowhere\.yaml' does not exist"):
        load(config, ["retrieve=5", "prices=nowhere.yaml"], {})


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "USD 0"), (0.000123456, "USD 0.000123"), (0.9996, "USD 1.00"), (12.345, "USD 12.3"),
     (1234.5, "USD 1,234"), (None, "–")],
)  # fmt: skip
def test_money_is_written_with_three_significant_digits(value, said):
    assert money(value, "USD") == said


PRICES = PriceList(currency="USD", models={"a:b": Price(input=1, output=9)})


def priced(**rest):
    """Return a run of two cells of 40 questions, the first of which asked a model."""
    made = stored({"a": {"m": [0.5] * 40}, "b": {"m": [0.5] * 40}}, **rest)
    line = Expenses(calls=40, tokens_in=1, tokens_out=1, money=1, model="a:b")
    cells = [replace(made.run.cells[0], spent=line), made.run.cells[1]]
    run = replace(made.run, cells=cells, prices=PRICES)
    return replace(made, run=run)


def cost(kinds, cells, run):
    """Return the first kind of cost that is known of some cells of a run, and theirs."""
    compared = operand_from_run(run).cells
    return first_known_cost(kinds, [compared[name] for name in cells])


class TestMoneyOfAQuestion:
    def test_it_is_the_mean_over_those_that_finished(self):
        # `tokens` n: n - 1 in at 1 and 1 out at 9 for a million
        made = priced(tokens={"a": [2, 12] * 20, "b": 5}, seconds={"a": 1, "b": 1})
        kind, found = cost(["money", "tokens"], ["a", "b"], made)
        assert kind == "money"
        assert found == {"a": pytest.approx((10 + 20) / 2 / 1e6), "b": 0}

    def test_where_one_is_not_known_the_next_kind_counts(self):
        made = priced(tokens={"a": [9] * 39 + [None], "b": 5}, seconds={"a": 1, "b": 1})
        assert cost(["money", "seconds"], ["a", "b"], made)[0] == "seconds"
        without = replace(made, run=replace(made.run, prices=None))
        assert cost(["money", "seconds"], ["b"], without)[0] == "seconds"

    def test_what_a_retriever_asked_makes_it_unknown_unless_that_is_free(self):
        records = priced(tokens={"a": 10, "b": 10}).records
        line = Expenses(calls=1, tokens_in=1, tokens_out=1, model="a:b", besides=["c:d"])
        assert expenses.question_money(records[0], line, PRICES) is None
        free = replace(line, besides=["gguf:x.gguf"])
        assert expenses.question_money(records[0], free, PRICES) == pytest.approx(18e-6)

    def test_several_answers_cost_their_mean_and_all_of_them_are_spent(self):
        records = priced(tokens={"a": 10, "b": 10}).records
        usage = [Usage(tokens_in=1, tokens_out=1), Usage(tokens_in=3, tokens_out=1)]
        samples = [AnswerSample("x", False, each) for each in usage]
        record = replace(records[0], samples=tuple(samples))
        found = expenses.sum_spent(usage, 2, "a:b", [], PRICES)
        assert (found.calls, found.tokens_in, found.tokens_out, found.model) == (2, 4, 2, "a:b")
        assert found.money == pytest.approx(22e-6)
        assert expenses.question_money(record, found, PRICES) == pytest.approx(11e-6)

    def test_a_system_is_priced_by_the_model_that_each_answer_names(self):
        records = priced(tokens={"a": 10, "b": 10}).records
        named = replace(records[0], usage=Usage(tokens_in=9, tokens_out=1, model="a:b"))
        assert expenses.sum_spent([named.usage], 1, None, [], PRICES, True).money == pytest.approx(
            18e-6
        )
        assert (
            expenses.sum_spent([named.usage, records[1].usage], 2, None, [], PRICES, True).money
            is None
        )
        silent = expenses.sum_spent([], 0, None, [], PRICES, True)
        assert expenses.question_money(named, silent, PRICES) is None

    def test_it_reads_with_its_currency(self):
        assert format_cost("money", 0.0012345, "USD") == "USD 0.00123"


def test_calls_are_counted_while_they_are_made_and_end_the_run_once(tmp_path):
    spend = Spending(read(tmp_path, FILE), 0.00025)
    spend("openai:small", 200, 50)  # 0.0002
    with pytest.raises(RunError, match=r"has spent EUR 0\.000400, more than .* \(EUR 0\.000250\)"):
        spend("openai:small", 200, 50)
    spend("openai:small", 200, 50)
    with pytest.raises(RunError, match="does not tell how many tokens"):
        Spending(read(tmp_path, FILE), 1)("openai:small", 5, None)
