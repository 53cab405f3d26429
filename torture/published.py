"""A figure that others published, from the data set that they had it from."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from harness import api
from harness.config.run_config import load
from harness.runs import runner
from torture.ordeal import Ordeal

_ROOT = Path(__file__).parent.parent
_PUBLISHED = {"ndcg@10": 0.94357, "ap@10": 0.92807, "recall@10": 0.98987}
"""MTEB, XQuADRetrieval, English, all-MiniLM-L6-v2."""
_NEAR = 0.005
_DOCUMENTS, _QUESTIONS = 240, 1185


def xquad() -> Ordeal:
    """Retrieve for every question of XQuAD by `configs/beir.yaml`."""
    what = "questions of XQuAD, scored as MTEB published all-MiniLM-L6-v2 to score"
    data = os.environ.get("HARNESS_TEST_DATA")
    if not data:
        return Ordeal(f"{what}: HARNESS_TEST_DATA does not name the folder of xquad-en", 0)
    with tempfile.TemporaryDirectory() as folder:
        place = [f"output={folder}/reports", f"cache={folder}/cache", "retrievers=dense"]
        environment = {"BEIR": f"{data}/xquad-en"}
        config = load(_ROOT / "configs" / "beir.yaml", place, environment)
        run = api.run(runner.prepare(config), lambda *_: None).run
    (cell,) = run.cells
    means = {name: cell.scores[name].mean for name in _PUBLISHED}
    broken = [
        f"{name} is {means[name]}, published: {published}"
        for name, published in _PUBLISHED.items()
        if means[name] is None or abs(means[name] - published) > _NEAR
    ]
    found = run.provenance.corpus["documents"], run.provenance.testset["questions"]
    if found != (_DOCUMENTS, _QUESTIONS):
        broken.append(f"{found} documents and questions, not {(_DOCUMENTS, _QUESTIONS)}")
    return Ordeal(what, cell.asked, broken)
