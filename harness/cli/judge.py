"""Verbs about judges."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.options import Config, Json, Outside, Override
from harness.errors import HarnessError, RunError

commands = typer.Typer(
    help="What a judge model is worth.", no_args_is_help=True, rich_markup_mode=None
)


@commands.command("check")
def judge_check(
    config: Config,
    overrides: Override = None,
    n: Annotated[int, typer.Option("--n", min=1, help="how many questions")] = 20,
    outside: Outside = False,
    json: Json = False,
) -> None:
    """Measure the configuration's judge: right where the verdict is known, and swayed by what."""
    from harness import judge_check, runner
    from harness.config import load

    prepared = runner.prepare(load(config, overrides or (), allow_outside=outside))
    judge = prepared.config.judge
    if judge is None:
        raise HarnessError(
            f"{config} has no judge\n  name one: judge: {{model: provider:name}}, or "
            "--set judge=provider:name"
        )
    found = judge_check.check(judge, prepared.testset, n, prepared.config.settings.seed)
    if found.empty:
        raise RunError(f"the judge gave no verdict: {found.failure}")
    print(judge_check.as_json(found, judge) if json else judge_check.table(found, judge))
