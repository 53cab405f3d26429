"""Faults of a server by the thousand, with and without kills on top."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.support.faults_made import TIMES, Schedule, broken, misbehaving, ran, write
from torture.ordeal import Ordeal

_QUESTIONS, _RATE, _KILLS = 1_000, 0.2, 12


def chat() -> Ordeal:
    """Ask a chat model, and the same as a judge."""
    return _against("a chat model and a judge", "chat")


def http() -> Ordeal:
    """Ask a system over HTTP."""
    return _against("a system over HTTP", "http")


def killed() -> Ordeal:
    """Ask a chat model in a run that is killed again and again."""
    return _against("a chat model and a judge", "chat", _KILLS)


def _against(whom: str, kind: str, kills: int = 0) -> Ordeal:
    with tempfile.TemporaryDirectory() as place:
        calm, harried = Path(place, "calm"), Path(place, "harried")
        found = []
        for folder, rate in ((calm, 0.0), (harried, _RATE)):
            schedule = Schedule(rate)
            with misbehaving(schedule) as url:
                write(folder, url, kind, _QUESTIONS)
                said = ran(folder, kills if rate else 0)
            found += [f"seed {schedule.seed}: {said}"] if said else []
        found += [f"seed {schedule.seed}: {each}" for each in broken(calm, harried)]
    often = [prompt[-80:] for prompt, times in schedule.tries.items() if times > TIMES]
    if not kills:  # a run that goes on asks again what had not been answered
        found += [f"seed {schedule.seed}: asked more than {TIMES} times: {each}" for each in often]
    beside = f", {kills} kills" if kills else ""
    what = f"{_QUESTIONS:,} questions to {whom}, {_RATE:.0%} of the requests go wrong{beside}"
    return Ordeal(what, schedule.made.total() - schedule.made[None], found)
