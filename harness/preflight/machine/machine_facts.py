"""One finding about this machine: the form that every check of `doctor` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.errors import HarnessError

Status = Literal["ok", "warning", "problem"]
"""A problem stops a run, or makes it worthless; a warning may."""


@dataclass(frozen=True)
class Fact:
    """One thing a check saw, in plain words, and what would put it right."""

    status: Status
    text: str
    remedy: str = ""


def problem_of(error: HarnessError, place: str = "") -> Fact:
    """Return an error as a problem: its first line is the fact, the rest the remedy."""
    text, _, remedy = str(error).partition("\n")
    return Fact("problem", f"{place}{text}", " ".join(remedy.split()))
