"""Whether a judge is heard at all: a run in which it no longer is has no chance."""

from __future__ import annotations

from harness.errors import RunError

HOPELESS = 20
"""So many failures in a row say that a judge is gone; fewer say nothing yet."""


class Unheard:
    """How often one judge has failed in a row, in one run; any reply ends the row."""

    def __init__(self, allowed: float = 0.0) -> None:
        """Begin; more failures than `allowed`, and no fewer than `HOPELESS`, are too many."""
        self._allowed = allowed
        self._failed = 0
        self._why = ""

    def add(self, failure: str | None) -> None:
        """Note why there is no reply to a prompt; None is a reply."""
        self._failed = 0 if failure is None else self._failed + 1
        self._why = failure or ""

    @property
    def hopeless(self) -> bool:
        """Whether the judge need not be asked any more."""
        return self._failed >= HOPELESS and self._failed > self._allowed

    def check(self) -> None:
        """Raise `RunError` where there is no hope."""
        if self.hopeless:
            raise RunError(
                f"the judge gave no verdict: {self._why}\n"
                f"  it failed on {self._failed} prompts in a row; what was done is kept: once it "
                "answers, the same command continues"
            )
