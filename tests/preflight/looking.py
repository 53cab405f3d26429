"""What the checks before a run find in a small project with something planted in it."""

import json
from contextlib import contextmanager
from pathlib import Path

from harness.cache.folders import Cache
from harness.config.run_config import load
from harness.preflight import checks
from harness.preflight.checks import CheckInput
from harness.runs import runner
from harness.runs.artefacts import Artefacts
from tests.support.small import project


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
            return list(find(check, look))
        return checks.run_checks(made, look.artefacts, look.cache, deep=deep)


def find(name, look):
    """Return what the check of this name finds."""
    (check,) = (each for each in checks.CHECKS if each.name == name)
    return check.find(look)


@contextmanager
def looking(made, deep=True):
    """Give what a check is given."""
    with Cache(made.config.cache) as cache:
        stages = Artefacts(made.corpus, cache, made.plan, made.testset.questions)
        yield CheckInput(made, stages, cache, None, deep, lambda *_: None)


def asked(number: int, **about) -> dict:
    """Return a question of a test set file, about nothing another is about."""
    row = {"id": f"q{number}", "question": f"What is number {number}?", "answerable": False}
    return json.loads(json.dumps({**row, **about}))
