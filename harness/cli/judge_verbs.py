"""Command `judge check`: measures the quality of a judge model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.cli.options import CommandGroup, Force, Json, Override, config_file, print_json
from harness.errors import HarnessError, RunError

if TYPE_CHECKING:
    from harness.config.resolved import RunConfig

commands = typer.Typer(cls=CommandGroup, help="What a judge model is worth.", no_args_is_help=True)


@commands.command("check")
def judge_check(
    config: Annotated[
        Path | None,
        typer.Argument(
            help="the configuration, a YAML file", show_default=False, callback=config_file
        ),
    ] = None,
    overrides: Override = None,
    n: Annotated[int, typer.Option("--n", min=1, help="how many questions")] = 20,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="people's labels: measure against them instead"),
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="with --labels: what they are about")
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(metavar="T|halves", help="with --labels: from where on a grade counts as 1"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="with --labels: write the card as this page")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Measure the configuration's judge: right where the verdict is known, and swayed by what.

    With --labels it is held against people's labels; the card is kept beside the configuration.
    """
    from harness.config.run_config import load

    loaded = None if config is None else load(config, overrides or ())
    if labels is not None:
        _check_labels(loaded, labels, metric, _read_threshold(threshold), out, force, json)
    elif loaded is None:
        raise HarnessError("no configuration\n  name it: judge check CONFIG, or give --labels FILE")
    else:
        _check_by_construction(loaded, n, json)


def _check_by_construction(config: RunConfig, n: int, json: bool) -> None:
    from harness.people import judge_check
    from harness.report import terminal
    from harness.report.sections import people
    from harness.runs import runner

    prepared = runner.prepare(config)
    judge = prepared.config.judge
    if judge is None:
        raise HarnessError(
            f"{config.shown} has no judge\n  name one: judge: {{model: provider:name}}, or "
            "--set judge=provider:name"
        )
    result = judge_check.check_judge(judge, prepared.testset, n, prepared.config.settings.seed)
    if result.empty:
        raise RunError(f"the judge gave no verdict: {result.failure}")
    if json:
        print_json({"judge": judge.shown, **asdict(result)})
    else:
        terminal.show(people.judge_blocks(result, judge))


def _check_labels(
    config: RunConfig | None,
    labels: Path,
    name: str | None,
    threshold: float | Literal["halves"] | None,
    out: Path | None,
    force: bool,
    json: bool,
) -> None:
    from harness.files import new_files
    from harness.metrics import named_metrics
    from harness.people import judge_labels
    from harness.report import judge_blocks, terminal
    from harness.runs import judge_cards
    from harness.testset import label_file

    if out is not None:
        new_files.check_new([out], force)
    file = label_file.read_labels(labels)
    metric, seed = None, 7
    if config is not None:
        metrics = named_metrics.with_judge(config.metrics, config.judge)
        name = name or next((row.value.metric for row in file.rows if row.value.metric), None)
        metric, seed = judge_labels.choose_metric(metrics, name), config.settings.seed
    card = judge_labels.check_labels(file, metric, threshold, seed)
    written = [] if out is None else [out]
    if config is not None and card.identity is not None:
        kept = judge_cards.keep_card(config.folder, card, labels)
        written = [kept, out or kept.with_suffix(".html")]
    if written:
        judge_blocks.write_page(card, written[-1])
    if json:
        print_json(judge_blocks.as_dict(card))
        return
    terminal.show(judge_blocks.card_blocks(card))
    terminal.show_paths(written)


def _read_threshold(text: str | None) -> float | Literal["halves"] | None:
    if text is None:
        return None
    if text == "halves":
        return "halves"
    try:
        return float(text)
    except ValueError:
        raise HarnessError(f"--threshold {text!r} is no number\n  name one, or halves") from None
