"""Verbs that make, check, score and render runs."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import machine
from harness.cli.noting import noted
from harness.cli.options import (
    CacheFolder,
    Config,
    Json,
    Junit,
    Metrics,
    Outside,
    Override,
    cache_folder,
)
from harness.errors import HarnessError

commands = typer.Typer()


@commands.command()
def run(
    config: Config,
    overrides: Override = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="ask only the first so many questions")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="ask only so many questions, chosen by chance")
    ] = None,
    sample_seed: Annotated[
        str | None,
        typer.Option(metavar="date|INT", help="choose others each UTC day, or always the same"),
    ] = None,
    oracle: Annotated[
        bool,
        typer.Option("--oracle", help="also ask with perfect retrieval, and with none at all"),
    ] = False,
    max_cost: Annotated[
        float | None,
        typer.Option(metavar="MONEY", help="refuse a run that may cost more, by its price file"),
    ] = None,
    token_budget: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="TOKENS", help="end a run that takes more, so that it can go on"
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="start over: use nothing of earlier runs")
    ] = False,
    outside: Outside = False,
    junit: Junit = None,
    json: Json = False,
) -> None:
    """Run a configuration: index, retrieve, answer, score, report; and judge it by its gate.

    A run that was broken off is continued by the same command.
    """
    from harness import runner, terminal
    from harness.cli import gate
    from harness.config import load
    from harness.gate import gating

    machine.check_files()
    given = {"sample": sample, "sample_seed": sample_seed, "oracle": "true" if oracle else None}
    options = [f"{key}={value}" for key, value in given.items() if value is not None]
    options += [] if max_cost is None else [f"max_cost={max_cost:f}"]
    options += [] if token_budget is None else [f"token_budget={token_budget}"]
    configured = load(config, [*(overrides or ()), *options], allow_outside=outside)
    rules = configured.settings.gate if limit is None else None
    if junit is not None and rules is None:
        why = "a run by --limit is not judged" if limit else f"{config} has no gate"
        raise HarnessError(f"--junit writes what a gate says, and {why}\n  leave --junit out")
    with gate.refusals_told(config.name, junit) if rules is not None else nullcontext():
        prepared = runner.prepare(configured, limit, fresh)
        with terminal.progress() as progress:
            gating.foretold(rules, progress.note)
            try:
                finished = runner.run(prepared, progress, fresh, progress.note)
            except KeyboardInterrupt:
                progress.stop()
                print(
                    "interrupted; the questions done are stored, and the same command continues",
                    file=sys.stderr,
                )
                raise typer.Exit(130) from None
    print(
        terminal.as_json(finished.folder, finished.run)
        if json
        else terminal.summary(finished.folder, finished.view)
    )
    if rules is not None:
        gate.at_the_end(finished.folder, rules, junit, sys.stderr if json else sys.stdout)


@commands.command()
def validate(
    config: Config,
    overrides: Override = None,
    deep: Annotated[
        bool, typer.Option(help="also find the models, and look at data, chunks and questions")
    ] = False,
    traffic: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="questions people really ask; goes with --deep"),
    ] = None,
    unlike: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="write those that no test question is near to a file"),
    ] = None,
    outside: Outside = False,
    json: Json = False,
) -> None:
    """Check a configuration, its corpus and its test set: everything wrong, at once."""
    from harness import findings, newfiles, runner, terminal
    from harness.config import load
    from harness.findings import printing
    from harness.findings import traffic as real
    from harness.forecast import forecast, limit, words
    from harness.gate import outlook
    from harness.traffic import listing

    configured = load(config, overrides or (), allow_outside=outside)
    if traffic is not None:
        configured, deep = replace(configured, traffic=traffic), True
    if unlike is not None and not (deep and configured.traffic is not None):
        raise HarnessError("--unlike writes what --traffic FILE finds\n  name such a file")
    prepared = runner.prepare(configured)
    found, far = [], []
    if deep:
        runner.check_models(prepared)
        with terminal.progress() as progress:
            found = runner.look_over(prepared, progress)
        far = real.far(prepared)
        if unlike is not None:
            newfiles.put(unlike, listing.as_lines(far))
    ahead = forecast(prepared, deep)
    if json:
        print(printing.as_json(found))
    else:
        tokens = limit.budgeted(ahead, prepared.config.settings.token_budget)
        todo = [*words.lines(ahead), *tokens]
        said = [terminal.checked(prepared), *todo, *outlook.outlook(prepared)]
        deeper = [printing.shown(found), *listing.shown(far)] if deep else []
        print("\n".join([*said, *deeper]))
    findings.refuse(found)
    limit.refuse(ahead, prepared.config)


@commands.command()
def report(folder: Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")]) -> None:
    """Render a stored run again."""
    from harness.report import write

    for path in write(folder):
        print(path)


@commands.command()
def evaluate(
    qrels: Annotated[Path | None, typer.Option(help="judgements, in TREC's or BEIR's form")] = None,
    run: Annotated[Path | None, typer.Option(help="a ranking, in TREC's form")] = None,
    answers: Annotated[Path | None, typer.Option(help="answers, one JSON object a line")] = None,
    metrics: Metrics = None,
    level: Annotated[
        int, typer.Option("--relevance-level", "-l", min=1, help="the least relevant grade")
    ] = 1,
    per_question: Annotated[bool, typer.Option(help="print each question's scores too")] = False,
    json: Json = False,
) -> None:
    """Score what others made: --qrels Q --run R, or --answers A."""
    from harness import imported_answers, imported_runs, terminal, trec

    if answers is not None and qrels is None and run is None:
        named = metrics or imported_answers.ANSWER_METRICS
        found = imported_answers.evaluate_answers(answers, named)
    elif qrels is not None and run is not None and answers is None:
        wanted = metrics or imported_runs.RUN_METRICS
        judged, ranked = trec.read_qrels(qrels), trec.read_run(run)
        found = imported_runs.evaluate_run(judged, ranked, wanted, level)
    else:
        raise HarnessError("name what to score: --qrels Q --run R, or --answers A")
    noted(found.notes)
    print(terminal.evaluation_as_json(found) if json else terminal.evaluated(found, per_question))


@commands.command()
def score(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")],
    metrics: Metrics = None,
    judge: Annotated[
        str | None,
        typer.Option(help="a chat model's name, or its settings in YAML; else the run's own judge"),
    ] = None,
    cache: CacheFolder = None,
    json: Json = False,
) -> None:
    """Score a stored run again, by other metrics or newer versions; nothing is re-run."""
    from harness import terminal, yamlfile
    from harness.rescore import rescore
    from harness.stored_judge import judge_of

    try:
        given = None if judge is None else yamlfile.value(judge)
    except ValueError:
        # What is wrong with it would show it, and it may hold a key.
        raise HarnessError("--judge: it is neither a model's name nor YAML") from None
    try:
        judging = None if judge is None else judge_of(given)
    except ValueError as error:
        raise HarnessError(f"--judge: {error}") from None
    run = rescore(folder, metrics or (), judging, cache_folder(cache))
    print(terminal.as_json(folder, run) if json else terminal.summary(folder))
