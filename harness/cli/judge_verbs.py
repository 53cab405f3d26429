"""Command `judge check`: measures the quality of a judge model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from harness.cli.notes import print_json
from harness.cli.options import Config, Json, Override
from harness.errors import HarnessError, RunError

commands = typer.Typer(
    help="What a judge model is worth.", no_args_is_help=True, rich_markup_mode=None
)


@commands.command("check")
def judge_check(
    config: Config,
    overrides: Override = None,
    n: Annotated[int, typer.Option("--n", min=1, help="how many questions")] = 20,
    json: Json = False,
) -> None:
    """Measure the configuration's judge: right where the verdict is known, and swayed by what."""
    from harness.config.run_config import load
    from harness.people import judge_check
    from harness.report import people_blocks, terminal
    from harness.runs import runner

    prepared = runner.prepare(load(config, overrides or ()))
    judge = prepared.config.judge
    if judge is None:
        raise HarnessError(
            f"{config} has no judge\n  name one: judge: {{model: provider:name}}, or "
            "--set judge=provider:name"
        )
    result = judge_check.check_judge(judge, prepared.testset, n, prepared.config.settings.seed)
    if result.empty:
        raise RunError(f"the judge gave no verdict: {result.failure}")
    if json:
        print_json({"judge": judge.shown, **asdict(result)})
    else:
        terminal.show(people_blocks.judge(result, judge))
