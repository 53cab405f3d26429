"""The verbs: the only place that prints or exits."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from harness import __version__
from harness.errors import HarnessError

app = typer.Typer(
    help="Evaluate retrieval-augmented generation: which configuration to ship, and how sure.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Config = Annotated[Path, typer.Argument(help="the configuration, a YAML file")]
Override = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="override a key; the value is read as YAML"),
]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", "-m", help="a metric; may be given several times")
]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for machines")]


def main() -> None:
    """Run the command line; a user's mistake prints its message, and no traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that has no dash or multiplication sign shows a question mark.
            stream.reconfigure(errors="replace")
    try:
        app()
    except HarnessError as error:
        print(error, file=sys.stderr)
        sys.exit(error.status)
    except BrokenPipeError:
        # Whoever read has had enough; what is still buffered must not fail a second time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        print(f"{error.filename!r} cannot be used: {error.strerror}", file=sys.stderr)
        sys.exit(HarnessError.status)


@app.command()
def run(
    config: Config,
    overrides: Override = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="ask only the first so many questions")
    ] = None,
    json: Json = False,
) -> None:
    """Run a configuration: index, retrieve, answer, score, report."""
    from harness import runner, terminal
    from harness.config import load

    prepared = runner.prepare(load(config, overrides or ()), limit)
    with terminal.progress() as progress:
        try:
            finished = runner.run(prepared, progress)
        except KeyboardInterrupt:
            progress.stop()
            print("interrupted; the questions done are stored", file=sys.stderr)
            raise typer.Exit(130) from None
    print(
        terminal.as_json(finished.folder, finished.run)
        if json
        else terminal.summary(finished.folder)
    )


@app.command()
def validate(
    config: Config,
    overrides: Override = None,
    deep: Annotated[bool, typer.Option(help="also find the models, libraries and keys")] = False,
) -> None:
    """Check a configuration, its corpus and its test set: everything wrong, at once."""
    from harness import runner, terminal
    from harness.config import load

    prepared = runner.prepare(load(config, overrides or ()))
    if deep:
        runner.check_models(prepared)
    print(terminal.checked(prepared))


@app.command()
def report(folder: Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")]) -> None:
    """Render a stored run again."""
    from harness.report import write

    for path in write(folder):
        print(path)


@app.command()
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
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    print(terminal.evaluation_as_json(found) if json else terminal.evaluated(found, per_question))


@app.command()
def score(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")],
    metrics: Metrics = None,
    json: Json = False,
) -> None:
    """Score a stored run again, by other metrics or newer versions; nothing is re-run."""
    from harness import terminal
    from harness.rescore import rescore

    run = rescore(folder, metrics or ())
    print(terminal.as_json(folder, run) if json else terminal.summary(folder))


@app.command("list")
def list_(
    family: Annotated[str | None, typer.Argument(help="one family, in full")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="as the README's table")] = False,
) -> None:
    """List the components: names, parameters, and what they do."""
    from harness import catalogue

    if markdown:
        print(catalogue.table())
    else:
        print(catalogue.overview() if family is None else catalogue.details(family))


@app.command()
def schema(
    what: Annotated[str, typer.Argument(help="config, testset, run or records")] = "config",
) -> None:
    """Print the JSON schema of a file format."""
    from harness import catalogue

    print(catalogue.schema(what))


@app.command()
def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new folder")]) -> None:
    """Write a small project that `run` accepts as it is."""
    from harness import project

    for path in project.create(folder):
        print(path)
    print(f"\nNow run: python -m harness run {folder / 'config.yaml'}")


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="print the version")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit
