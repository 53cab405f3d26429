"""The verbs: the only place that prints or exits."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

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
Force = Annotated[bool, typer.Option("--force", help="replace what is there already")]
CacheFolder = Annotated[
    Path | None, typer.Option("--cache", help="the cache; else HARNESS_CACHE, else .harness")
]


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
    fresh: Annotated[
        bool, typer.Option("--fresh", help="start over: use nothing of earlier runs")
    ] = False,
    json: Json = False,
) -> None:
    """Run a configuration: index, retrieve, answer, score, report.

    A run that was broken off is continued by the same command.
    """
    from harness import runner, terminal
    from harness.config import load

    prepared = runner.prepare(load(config, overrides or ()), limit, fresh)
    with terminal.progress() as progress:
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
    judge: Annotated[
        str | None,
        typer.Option(help="a chat model's name, or its settings in YAML; else the run's own judge"),
    ] = None,
    cache: CacheFolder = None,
    json: Json = False,
) -> None:
    """Score a stored run again, by other metrics or newer versions; nothing is re-run."""
    from harness import terminal, yamlfile
    from harness.rescore import judge_of, rescore

    try:
        judging = None if judge is None else judge_of(yamlfile.value(judge))
    except ValueError as error:
        raise HarnessError(f"--judge {judge}: {error}") from None
    run = rescore(folder, metrics or (), judging, _cache(cache))
    print(terminal.as_json(folder, run) if json else terminal.summary(folder))


@app.command("import")
def import_(
    form: Annotated[
        str,
        typer.Argument(metavar="FORMAT", help="squad, or with options: 'trec(qrels=qrels.txt)'"),
    ],
    path: Annotated[str, typer.Argument(metavar="PATH", help="the test set in that format")],
    out: Annotated[Path, typer.Option("--out", "-o", help="the .jsonl file to write")],
    corpus: Annotated[
        str | None,
        typer.Option(help="the corpus of its labels, as in a configuration; else PATH holds it"),
    ] = None,
    write_corpus: Annotated[
        Path | None, typer.Option(help="write the corpus too: a .jsonl file, or a folder")
    ] = None,
    force: Force = False,
) -> None:
    """Turn a test set of another tool into ours; say what was kept, and what has no place."""
    from harness import importing

    found = importing.read(form, path, corpus)
    written = importing.write(found, out, write_corpus, force)
    print(importing.account(found))
    for each in written:
        print(each)


@app.command()
def export(
    form: Annotated[str, typer.Argument(metavar="FORMAT", help="trec, csv or parquet")],
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")],
    out: Annotated[Path, typer.Option("--out", "-o", help="the file; for trec, a folder")],
    chunks: Annotated[
        bool, typer.Option("--chunks", help="trec: rank chunks, in place of their documents")
    ] = False,
    force: Force = False,
) -> None:
    """Write a stored run for other tools: a TREC run for each cell, or a table of the scores."""
    from harness import exporting, store

    for each in exporting.export(store.load(folder), form, out, chunks, force):
        print(each)


@app.command()
def extract(
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="a folder, or one file")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FOLDER", help="write files there")
    ] = None,
) -> None:
    """Show the text that PDF, Word, HTML and the like are read as: what evidence quotes."""
    from harness import extraction

    found = extraction.read(corpus)
    if output is not None:
        for path in extraction.write(found, corpus, output):
            print(path)
    else:
        for each in found.converted():
            print(f"==> {each['id']} <==\n{each['text']}\n")
    notes = [*(f"skipped: {each.where}: {each.what}" for each in found.skipped), *found.notes]
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


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


judge_app = typer.Typer(
    help="What a judge model is worth.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(judge_app, name="judge")


@judge_app.command("check")
def judge_check(
    config: Config,
    overrides: Override = None,
    n: Annotated[int, typer.Option("--n", min=1, help="how many questions")] = 20,
    json: Json = False,
) -> None:
    """Measure the configuration's judge: right where the verdict is known, and swayed by what."""
    from harness import judge_check, runner
    from harness.config import load

    prepared = runner.prepare(load(config, overrides or ()))
    judge = prepared.config.judge
    if judge is None:
        raise HarnessError(
            f"{config} has no judge\n  name one: judge: {{model: provider:name}}, or "
            "--set judge=provider:name"
        )
    found = judge_check.check(judge, prepared.testset, n, prepared.config.settings.seed)
    print(judge_check.as_json(found, judge) if json else judge_check.table(found, judge))


class _WithDefault(typer.core.TyperGroup):
    """A group whose first command, `config`, need not be named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help"):
            args = ["config", *args]
        return super().parse_args(ctx, args)


draft_app = typer.Typer(
    cls=_WithDefault,
    help="Draft questions from documents: draft CONFIG, then draft accept FILE.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(draft_app, name="draft")


@draft_app.command("config")
def draft_config(
    config: Config,
    overrides: Override = None,
    n: Annotated[int, typer.Option("--n", min=1, help="how many questions")] = 50,
    out: Annotated[Path, typer.Option("--out", "-o", help="the .jsonl file to write")] = Path(
        "drafts.jsonl"
    ),
    categories: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="with commas between them; else all are drafted"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="draws the passages; else the configuration's")
    ] = None,
    force: Force = False,
) -> None:
    """Draft questions by the configuration's chat model (the default: `draft CONFIG`).

    Drafting that was broken off is continued by the same command.
    """
    from harness import drafting, terminal

    names = [each.strip() for each in (categories or "").split(",") if each.strip()]
    prepared = drafting.prepare(config, overrides or (), seed)
    for note in prepared.notes:
        print(f"note: {note}", file=sys.stderr)
    with terminal.progress() as progress:
        try:
            written = drafting.run(prepared, n, out, names, force, progress)
        except KeyboardInterrupt:
            progress.stop()
            part = drafting.part_of(out)
            there = f"the drafts made are in {part}" if part.exists() else "no draft was finished"
            print(f"interrupted; {there}, and the same command continues", file=sys.stderr)
            raise typer.Exit(130) from None
    print(written.account())


@draft_app.command("accept")
def draft_accept(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a test set, a .jsonl file")],
    ids: Annotated[
        list[str] | None, typer.Option("--id", help="a draft's id; may be given several times")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="accept all drafts")] = False,
) -> None:
    """Take the mark off drafts that a person has read and found good."""
    from harness.drafting.acceptance import accept

    if every == bool(ids):
        raise HarnessError("nothing says what to accept\n  name drafts: --id ID, or all: --all")
    found = accept(file, None if every else ids)
    print(f"{found.accepted} accepted, {found.left} still drafts: {file}")


cache_app = typer.Typer(
    help="See what runs have kept to save time, and make room.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(cache_app, name="cache")


@cache_app.command("ls")
def cache_ls(cache: CacheFolder = None, json: Json = False) -> None:
    """List what lies in the cache: what made it, its size, when it was last used."""
    from harness import housekeeping, terminal_cache

    root = _cache(cache)
    found = housekeeping.entries(root)
    print(terminal_cache.listed_as_json(found) if json else terminal_cache.listed(root, found))


@cache_app.command("gc")
def cache_gc(
    older_than: Annotated[
        str | None, typer.Option(metavar="TIME", help="delete what was not used for: 12h, 30d, 4w")
    ] = None,
    max_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="then the least used, down to: 500MB, 5GB")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="only say what would be deleted")
    ] = False,
    cache: CacheFolder = None,
    json: Json = False,
) -> None:
    """Make room in the cache; what a run is using stays."""
    from harness import housekeeping, quantities, terminal_cache

    if older_than is None and max_size is None:
        raise HarnessError(
            "nothing says what to delete\n  name one or both: --older-than 30d, --max-size 5GB"
        )
    age = None if older_than is None else quantities.duration(older_than)
    room = None if max_size is None else quantities.size(max_size)
    freed = housekeeping.free(_cache(cache), age, room, dry_run=dry_run)
    show = terminal_cache.freed_as_json if json else terminal_cache.freed
    print(show(freed, dry_run))


def _cache(named: Path | None) -> Path:
    """Return the folder of the cache; one that was named must be there."""
    from harness.settings import Settings

    given = named or os.environ.get("HARNESS_CACHE")
    if given and not Path(given).exists():
        raise HarnessError(f"cache {str(given)!r} is not there\n  a run makes it; or name another")
    return Path(given or Settings.model_fields["cache"].default)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="print the version")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit
