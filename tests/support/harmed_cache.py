"""A cache with one file harmed: the next run notices, or it does not matter to any number."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from harness import api
from harness.cache.folders import MARK
from harness.config.run_config import load
from harness.runs import runner
from tests.support import damage, small
from tests.support.kills import content


def harm_cache(folder: Path, times: int, seed: int) -> tuple[int, list[str]]:
    """Harm files of each kind so often, one at a time; return how many cases, and what broke."""
    config = small.project(folder, chunkers=["markdown"], index={"exact": False})
    cache = folder / "cache"

    def numbers() -> object:
        made = api.run(runner.prepare(load(config, [], {})), lambda *_: None).folder
        found = content(made / "records.jsonl")
        shutil.rmtree(folder / "reports")
        return found

    wanted = numbers()
    numbers()  # by now everything is there that a run keeps
    whole = damage.files(cache)
    by_kind: dict[str, list[str]] = {}
    for name in whole:
        by_kind.setdefault(name.partition("/")[0], []).append(name)
    draw = random.Random(seed)
    cases, broken = 0, []
    for kind, names in by_kind.items():
        for case in range(times):
            name = draw.choice(names)
            how, harmed = damage.harmed(whole[name], draw)
            if harmed is None:
                damage.into_folder(cache / name)
            else:
                (cache / name).write_bytes(harmed)
            cases += 1
            try:
                if numbers() != wanted:
                    broken.append(f"{kind}, seed {seed}, case {case}, {name} {how}: other numbers")
            except Exception as error:  # noqa: BLE001  whatever escapes is what is looked for
                if kind == MARK and "was written by a newer version" in str(error):
                    continue  # a digit of the layout's number: refused, with the remedy
                broken.append(f"{kind}, seed {seed}, case {case}, {name} {how}: {error!r}")
            finally:
                damage.restored(cache, whole)
    return cases, broken
