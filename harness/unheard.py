"""Whether a judge is heard at all: a run in which none is has no chance."""

from __future__ import annotations

from collections import Counter

from harness.judging import HOPELESS
from harness.stored import RecordLine


class Unheard:
    """The questions of one cell on which a judge gave no verdict, until it gives its first."""

    def __init__(self) -> None:
        self._heard: set[str] = set()
        self._missed: Counter[str] = Counter()

    def add(self, record: RecordLine) -> tuple[int, str] | None:
        """Return on how many questions a judge has failed, and why, where it never did otherwise.

        A few failures say nothing yet: None for less than `HOPELESS`.
        """
        for name, score in record.scores.items():
            if any(verdict.value is not None for verdict in score.verdicts):
                self._heard.add(name)
            elif score.state == "judge_failed":
                self._missed[name] += 1
                if name not in self._heard and self._missed[name] >= HOPELESS:
                    return self._missed[name], f"metric {name}: {score.reason}"
        return None
