"""What each chunker allows stands in the order of the leaderboard."""

from dataclasses import replace

from harness.report.document import TableBlock
from harness.report.run_view import View
from harness.report.sections import oracle
from tests.support import small


def test_a_higher_ceiling_does_not_put_a_chunker_before_a_better_one(tmp_path):
    chunkers = ["markdown", {"fixed": {"size": 60}}]
    stored = small.stored(tmp_path, chunkers=chunkers, oracle=True)
    ranked = list(dict.fromkeys(cell.chunker for cell in View(stored).cells))
    assert len(ranked) == 2
    ceilings = [
        replace(
            line,
            evidence_recall=replace(
                line.evidence_recall, mean=0.1 if line.chunker == ranked[0] else 0.9
            ),
        )
        for line in stored.run.ceilings
    ]
    assert len(ceilings) == 2
    view = View(replace(stored, run=replace(stored.run, ceilings=ceilings)))

    (table,) = (each for each in oracle.chunker_limits(view) if isinstance(each, TableBlock))
    assert [row[0] for row in table.rows] == ranked
