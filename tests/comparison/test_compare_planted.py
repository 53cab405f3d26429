"""A regression planted in the shipped corpus is caught, and its category named."""

from pathlib import Path

import yaml

from harness import api
from harness.comparison import operand as sides
from harness.comparison.compare_runs import compare_operands
from harness.config.run_config import load
from harness.report import comparison_blocks
from harness.runs import runner

ROOT = Path(__file__).parents[2]


def ran(folder, category):
    """Return the side of a run whose embedder shuffles one category's questions."""
    planted = {"cls": "tests.support.planted:Planted", "arguments": {"category": category}}
    config = folder / "config.yaml"
    settings = {
        "corpus": str(ROOT / "corpora" / "insurellm"),
        "testset": str(ROOT / "testsets" / "insurellm.jsonl"),
        "chunkers": ["markdown"],
        "embedders": [{"langchain": planted}],
        "retrievers": ["dense"],
        "generators": ["none"],
        "index": {"exact": True},  # two builds of an approximate one differ
        "metrics": ["passage_recall@5", "hit_rate@5"],
        "output": str(folder / f"reports-{category}"),
        "cache": str(folder / "cache"),
    }
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    finished = api.run(runner.prepare(load(config)), lambda *_: None)
    return sides.read(finished.folder)


def test_an_embedder_that_shuffles_one_category_is_caught_and_the_category_named(tmp_path):
    before, after = ran(tmp_path, ""), ran(tmp_path, "direct_fact")

    found = compare_operands(before, after)

    assert found.worse
    (pair,) = found.pairs
    worse = {row.segment for row in pair.segments if row.way == "Category" and row.difference.worse}
    assert worse == {"direct_fact"}
    assert comparison_blocks.headline(found).startswith("Worse: passage_recall@5 fell by")
    category = before.questions
    assert {category[gap.question].category for gap in pair.lost} == {"direct_fact"}
    assert {change.about for change in found.changes} == {"config", "model"}
    assert all("direct_fact" in change.after for change in found.changes)
