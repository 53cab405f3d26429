"""What the checks before a run find in a small project with something planted in it."""

import json
from contextlib import contextmanager
from pathlib import Path

from harness import findings, runner
from harness.cache import Cache
from harness.config import load
from harness.findings import Look
from harness.stages import Stages
from tests.small import project


def prepared(folder: Path, documents=None, questions=None, **changes):
    """Prepare the small project with these documents beside its own."""
    config = project(folder, questions, **changes)
    for name, text in (documents or {}).items():
        (folder / "corpus" / name).write_text(text, encoding="utf-8")
    return runner.prepare(load(config, [], {}))


def looked(made, check=None, deep=True):
    """Return what all checks find, or one of them."""
    with looking(made, deep) as look:
        if check is not None:
            return list(findings.checks[check]().found(look))
        return findings.found(made, look.stages, look.cache, deep=deep)


@contextmanager
def looking(made, deep=True):
    """Give what a check is given."""
    with Cache(made.config.cache) as cache:
        stages = Stages(made.corpus, cache, made.plan, made.testset.questions)
        yield Look(made, stages, cache, None, deep, lambda *_: None)


def asked(number: int, **about) -> dict:
    """Return a question of a test set file, about nothing another is about."""
    row = {"id": f"q{number}", "question": f"What is number {number}?", "answerable": False}
    return json.loads(json.dumps({**row, **about}))
