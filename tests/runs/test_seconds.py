"""What a question's seconds hold, and what they leave out."""

import time
from dataclasses import dataclass, replace

from harness import api
from harness.config.run_config import load
from harness.embedders.hashing import Hashing
from harness.runs import runner
from harness.store import reader
from tests.support.small import project

SLEPT = 0.7


@dataclass(frozen=True)
class Slow(Hashing):
    """Takes its time, once for the documents and once for the questions."""

    def embed(self, texts, kind):
        time.sleep(SLEPT)
        return super().embed(texts, kind)


def test_what_is_made_once_is_in_the_stages_seconds_and_in_no_questions(tmp_path):
    prepared = runner.prepare(load(project(tmp_path, chunkers=["markdown"]), [], {}))
    cells = tuple(
        replace(cell, embedder=Slow()) if cell.embedder else cell for cell in prepared.config.cells
    )
    prepared = replace(prepared, config=replace(prepared.config, cells=cells))

    finished = api.run(prepared, lambda *_: None)

    spent = finished.run.seconds
    assert spent["embedding"] >= SLEPT
    assert spent["embedding questions"] >= SLEPT
    records = reader.load(finished.folder).records
    assert 0 < sum(record.seconds["retrieval"] for record in records) < SLEPT
