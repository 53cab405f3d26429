"""What a run will cost is said before it, held to a limit, and stored with the prices."""

from __future__ import annotations

import csv
import json
import re

import pytest

from tests.behaviour.golden import check_text
from tests.behaviour.servers import serving

RUN = ("run", "config.yaml")
PRICES = """\
currency: EUR
as_of: 2026-01-31
models:
  "openai:gpt-test": {input: 1000, output: 2000}
"""
BELOW = re.compile(r"(time|money): |.* by \S+: about ")
MONEY = (57 * 1000 + 9 * 2000) / 1e6
"""What one answer of the server costs: it says that it took 57 tokens, and gave 9."""


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with serving(lambda prompt: "It is 384,400 km away.") as chat:
        yield chat


@pytest.fixture
def asking(project, server):
    """Return a project whose three questions are answered by a chat model that has a price."""
    (project.folder / "prices.yaml").write_text(PRICES, "utf-8")
    project.config(
        retrievers=["bm25"],
        generators=["chat"],
        chat=server.settings("gpt-test", max_tokens=20, concurrent=1),
        prices="prices.yaml",
        metrics=["passage_recall@2", "token_f1"],
    )
    return project


def to_do(text: str) -> str:
    """Return the lines that say what is left to do."""
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("to do"))
    rest = (n for n in range(start + 1, len(lines)) if not BELOW.match(lines[n]))
    return "\n".join(lines[start : next(rest, len(lines))])


def run_file(project, reply) -> dict:
    assert reply.status == 0, reply
    folder = project.folder / json.loads(reply.out)["run"]
    return json.loads((folder / "run.json").read_text("utf-8"))


def test_validate_and_a_run_say_beforehand_what_is_to_do_and_what_it_costs(asking, cli, server):
    planned = to_do(cli("validate", "config.yaml", "--deep").out)
    assert server.requests == []

    reply = cli(*RUN)

    assert to_do(reply.err) == planned
    assert len(server.requests) == 3
    again = cli(*RUN)
    assert len(server.requests) == 3
    assert "to do:" not in again.err
    assert "nothing is left to do but scoring and the report" in again.err
    check_text("forecast", planned)


def test_half_of_it_is_taken_off_when_half_of_it_is_kept(asking, cli, server):
    assert cli(*RUN, "--limit", "2").status == 0

    planned = to_do(cli("validate", "config.yaml", "--deep").out)

    assert "1 answer by openai:gpt-test" in planned
    cli(*RUN)
    assert len(server.requests) == 3


def test_money_is_stored_with_the_prices_shown_in_the_leaderboard_and_exported(asking, cli):
    reply = cli(*RUN, "--json")

    run = run_file(asking, reply)
    (cell,) = run["cells"]
    folder = asking.folder / json.loads(reply.out)["run"]
    assert cell["spent"]["money"] == pytest.approx(3 * MONEY, abs=1e-12)
    assert (cell["spent"]["calls"], cell["spent"]["tokens_in"]) == (3, 3 * 57)
    assert run["prices"]["currency"] == "EUR"
    assert run["prices"]["models"] == {"openai:gpt-test": {"input": 1000.0, "output": 2000.0}}
    leaderboard = (folder / "report.md").read_text("utf-8").partition("## Leaderboard")[2]
    assert "EUR 0.0750" in leaderboard
    assert cli("export", "csv", folder, "-o", "scores.csv").status == 0
    with (asking.folder / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    (column,) = [name for name in rows[0] if "money" in name]
    assert len(rows) == 3 * 2  # a row for each question and metric
    assert [float(row[column]) for row in rows] == pytest.approx([MONEY] * 6)


def test_more_than_max_cost_is_refused_before_anything_is_asked(asking, cli, server):
    for reply in (
        cli(*RUN, "--max-cost", "0.01"),
        cli("validate", "config.yaml", "--set", "max_cost=0.01"),
    ):
        assert reply.status == 2
        assert "max_cost" in reply.err
        assert "EUR 0.0100" in reply.err
    assert server.requests == []
    assert cli(*RUN, "--max-cost", "100").status == 0
    assert cli(*RUN, "--max-cost", "0.000001").status == 0  # all is kept, so it costs nothing


def test_a_token_budget_ends_a_run_and_a_larger_one_goes_on_with_it(asking, cli, server):
    short = cli(*RUN, "--token-budget", "100")
    (stored,) = asking.folder.glob("reports/*/run.json")
    status = json.loads(stored.read_text("utf-8"))["status"]

    assert (short.status, status, len(server.requests)) == (3, "failed", 2)
    assert "132 tokens" in short.err
    assert "token_budget" in short.err
    assert cli(*RUN, "--token-budget", "66").status == 0
    (again,) = asking.folder.glob("reports/*/run.json")
    assert again == stored
    assert json.loads(again.read_text("utf-8"))["status"] == "finished"
    assert len(server.requests) == 3


def test_a_budget_in_the_environment_holds_too(asking, cli, server, monkeypatch):
    monkeypatch.setenv("HARNESS_TOKEN_BUDGET", "60")

    assert cli(*RUN).status == 3
    assert len(server.requests) == 1


def test_a_budget_below_the_number_of_calls_is_refused(asking, cli, server):
    assert cli(*RUN, "--set", "generators=extractive").status == 0  # then the calls are known

    reply = cli(*RUN, "--token-budget", "2")

    assert reply.status == 2
    assert "3 answers by openai:gpt-test" in reply.err
    assert server.requests == []
