"""Commands `run`, `validate`, `report`, `evaluate` and `score`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import machine_faults
from harness.cli.options import (
    JUDGE,
    RUN,
    CacheFolder,
    Config,
    Debug,
    Format,
    Json,
    Junit,
    Metrics,
    Override,
    RunFolder,
    cache_folder,
    print_json,
    print_notes,
    print_tracebacks,
)
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.report import table_formats
    from harness.runs.evaluation import Evaluation

commands = typer.Typer()


@commands.command(rich_help_panel=RUN)
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
    junit: Junit = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Run a configuration: index, retrieve, answer, score, report; and judge it by its gate.

    A run that was broken off is continued by the same command.
    """
    from harness import api
    from harness.cli import compare_verbs
    from harness.config.run_config import load
    from harness.report import run_summary, terminal
    from harness.runs import runner

    print_tracebacks(debug)
    machine_faults.check_file_limit()
    options_by_key = {
        "sample": sample,
        "sample_seed": sample_seed,
        "oracle": "true" if oracle else None,
        "max_cost": None if max_cost is None else f"{max_cost:f}",
        "token_budget": token_budget,
    }
    options = [f"{key}={value}" for key, value in options_by_key.items() if value is not None]
    configured = load(config, [*(overrides or ()), *options])
    rules = configured.settings.gate if limit is None else None
    if junit is not None and rules is None:
        why = "a run by --limit is not judged" if limit else f"{config} has no gate"
        raise HarnessError(f"--junit writes what a gate says, and {why}\n  leave --junit out")
    with compare_verbs.report_refusals(config.name, junit) if rules is not None else nullcontext():
        prepared = runner.prepare(configured, limit, fresh)
        with terminal.progress() as progress:
            if rules is not None:
                from harness.comparison.gate import judge_run

                judge_run.warn_if_no_baseline(rules, progress.note)
            try:
                finished = api.run(prepared, progress, fresh, progress.note, rules)
            except KeyboardInterrupt:
                progress.stop()
                print(
                    "interrupted; the questions done are stored, and the same command continues",
                    file=sys.stderr,
                )
                raise typer.Exit(130) from None
    if json:
        print(terminal.as_json(finished.folder, finished.run))
    else:
        terminal.show(run_summary.blocks(finished.folder, finished.view))
    if finished.gate is not None:
        compare_verbs.end_by_gate(
            finished.gate, finished.folder, junit, sys.stderr if json else None
        )


@commands.command(rich_help_panel=RUN)
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
    json: Json = False,
) -> None:
    """Check a configuration, its corpus and its test set: everything wrong, at once."""
    from harness import api
    from harness.comparison.gate import detectable_drop
    from harness.config.run_config import load
    from harness.files import new_files
    from harness.preflight import checks, cost
    from harness.preflight.checks import traffic as real_questions
    from harness.report import preflight_blocks, terminal
    from harness.runs import runner

    configured = load(config, overrides or ())
    if traffic is not None:
        configured, deep = replace(configured, traffic=traffic), True
    if unlike is not None and not (deep and configured.traffic is not None):
        raise HarnessError("--unlike writes what --traffic FILE finds\n  name such a file")
    prepared = runner.prepare(configured)
    findings, unlike_found = [], []
    if deep:
        runner.check_models(prepared)
        with terminal.progress() as progress:
            findings = api.check(prepared, progress)
        unlike_found = real_questions.find_unlike_questions(prepared)
        if unlike is not None:
            new_files.write_file(unlike, real_questions.to_jsonl(unlike_found))
    costs = cost.forecast(prepared, deep)
    if json:
        print_json(findings)
    else:
        drops = detectable_drop.find_detectable_drops(prepared)
        terminal.show(
            [
                *preflight_blocks.checked(prepared),
                *preflight_blocks.to_do(costs),
                *preflight_blocks.limits(costs, prepared.config.settings),
                *preflight_blocks.detectable_drops(drops),
                *(preflight_blocks.findings(findings) if deep else ()),
                *preflight_blocks.unlike_questions(unlike_found),
            ]
        )
    checks.refuse_errors(findings)
    cost.refuse_costly(costs, prepared.config)


@commands.command(rich_help_panel=RUN)
def report(folder: RunFolder) -> None:
    """Render a stored run again."""
    from harness.report import terminal, write

    terminal.show_paths(write(folder))


@commands.command(rich_help_panel=JUDGE)
def evaluate(
    qrels: Annotated[Path | None, typer.Option(help="judgements, in TREC's or BEIR's form")] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--run", help="a ranking, in TREC's form; given again, each is tested against the first"
        ),
    ] = None,
    answers: Annotated[Path | None, typer.Option(help="answers, one JSON object a line")] = None,
    metrics: Metrics = None,
    level: Annotated[
        int, typer.Option("--relevance-level", "-l", min=1, help="the least relevant grade")
    ] = 1,
    per_question: Annotated[bool, typer.Option(help="print each question's scores too")] = False,
    format_: Format = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Score what others made: --qrels Q --run R, or --answers A."""
    from harness.files import trec
    from harness.report import evaluation_blocks, table_formats, terminal
    from harness.runs import evaluate_answers, evaluate_rankings
    from harness.text import numbers
    from harness.text.escaping import make_printable

    print_tracebacks(debug)
    form = table_formats.check_format(format_, json)
    if answers is not None and qrels is None and not runs:
        answer_metrics = metrics or evaluate_answers.ANSWER_METRICS
        result = evaluate_answers.evaluate_answers(answers, answer_metrics)
    elif qrels is not None and runs and answers is None:
        ranking_metrics = metrics or evaluate_rankings.RANKING_METRICS
        judged = trec.read_qrels(qrels)
        results = {
            name: evaluate_rankings.evaluate_run(
                judged, trec.read_run(path), ranking_metrics, level
            )
            for name, path in _run_names(runs).items()
        }
        if len(results) > 1:
            _print_runs(results, per_question, form, json)
            return
        (result,) = results.values()
    else:
        raise HarnessError("name what to score: --qrels Q --run R, or --answers A")
    print_notes(result.notes)
    blocks = list(evaluation_blocks.scores(result))
    agreement = None
    if result.grades:
        from harness.people import graded_answers
        from harness.report.sections.people import grades_blocks

        agreement = graded_answers.correlate_grades(result)
        blocks += grades_blocks(agreement)
    if form is not None:
        print(table_formats.render(blocks, form))
        return
    if json:
        people = {} if agreement is None else {"people": agreement}
        print_json({**result.as_dict(), **people})
        return
    if per_question:
        print("\t".join(["question", *result.means]))
        for id_, row in result.values().items():
            scores = (numbers.score(value, 4) for value in row.values())
            print("\t".join([make_printable(id_), *scores]))
        print()
    terminal.show(blocks)


def _run_names(paths: Sequence[Path]) -> dict[str, Path]:
    """Return each ranking's file by its name without ending, or by its path if two are alike."""
    stems = Counter(path.stem for path in paths)
    names = {path.stem if stems[path.stem] == 1 else str(path): path for path in paths}
    if len(names) < len(paths):
        raise HarnessError("--run: one file is named twice\n  name each once")
    return names


def _print_runs(
    results: Mapping[str, Evaluation],
    per_question: bool,
    form: table_formats.Format | None,
    json: bool,
) -> None:
    """Print the means of several rankings, and the tests of each against the first."""
    from harness.comparison.compare_runs import compare_operands
    from harness.comparison.data_operand import operand_from_evaluations
    from harness.report import evaluation_blocks, table_formats, terminal

    if per_question:
        raise HarnessError("--per-question prints the scores of one --run\n  name one, or --json")
    for name, result in results.items():
        print_notes(f"{name}: {note}" for note in result.notes)
    side = operand_from_evaluations(results)
    compared = compare_operands(side, side)
    blocks = evaluation_blocks.several(results, compared)
    if form is not None:
        print(table_formats.render(blocks, form))
    elif json:
        print_json(evaluation_blocks.several_as_dict(results, compared))
    else:
        terminal.show(blocks)


@commands.command(rich_help_panel=JUDGE)
def score(
    folder: RunFolder,
    metrics: Metrics = None,
    judge: Annotated[
        str | None,
        typer.Option(help="a chat model's name, or its settings in YAML; else the run's own judge"),
    ] = None,
    cache: CacheFolder = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Score a stored run again, by other metrics or newer versions; nothing is re-run."""
    from harness import api
    from harness.files import yaml_lines
    from harness.report import run_summary, terminal
    from harness.report.run_view import View
    from harness.runs.stored_judge import parse_judge
    from harness.store.reader import load

    print_tracebacks(debug)
    judge_model = None
    if judge is not None:
        try:
            settings = yaml_lines.parse_value(judge)
        except ValueError:
            # What is wrong with it would show it, and it may hold a key.
            raise HarnessError("--judge: it is neither a model's name nor YAML") from None
        try:
            judge_model = parse_judge(settings)
        except ValueError as error:
            raise HarnessError(f"--judge: {error}") from None
    run = api.score(folder, metrics or (), judge_model, cache_folder(cache))
    if json:
        print(terminal.as_json(folder, run))
    else:
        terminal.show(run_summary.blocks(folder, View(load(folder))))
