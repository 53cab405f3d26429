"""Finds the calibration cards of judges beside a configuration; `judge check` keeps them there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.files.atomic import write_atomically
from harness.files.paths import make_portable
from harness.fingerprint import fingerprint
from harness.metrics import asks_judge
from harness.metrics.named_metrics import NamedMetric
from harness.store.judge_cards import CARD_FORMAT, JudgeCard, KnownJudge

_MAX_BYTES = 1_000_000
_OTHER_JUDGE = "the judge or its prompt changed since"


def metric_identity(metric: Any) -> str:
    """Return the hash of a metric's judge and prompt; a card holds for these alone."""
    return fingerprint(make_portable(metric.identity()))


def hash_of(path: Path) -> str | None:
    """Return the SHA-256 of a file; None where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def keep_card(folder: Path, card: JudgeCard, labels: Path) -> Path:
    """Write a card beside a configuration; return its path. `labels` is its file of labels."""
    relative = os.path.relpath(labels.resolve(), folder.resolve())
    card = replace(card, labels=Path(relative).as_posix())
    path = folder / f"judge-{card.metric}-{card.id}.json"
    write_atomically(path, CARD_FORMAT.text(card))
    return path


def find_cards(folder: Path, metrics: Sequence[NamedMetric]) -> Mapping[str, KnownJudge]:
    """Return the card of each metric's judge: the one that holds, else one that is stale.

    A card is stale where the judge, the prompt or the file of labels changed. What is no card of
    this version is passed over.
    """
    known: dict[str, KnownJudge] = {}
    for named in metrics:
        if not asks_judge(named.metric):
            continue
        metric: Any = named.metric
        found = []
        for path in sorted(folder.glob(f"judge-{metric.name}-*.json")):
            try:
                if path.stat().st_size <= _MAX_BYTES:
                    found.append(CARD_FORMAT.parse(path.read_bytes()))
            except (OSError, ValidationError):
                continue
        standing = [_hold(card, metric, folder) for card in found if card.metric == metric.name]
        if standing:
            known[named.name] = min(
                standing, key=lambda item: (bool(item.stale), -item.card.card.n)
            )
    return known


def recheck_cards(
    known: Mapping[str, KnownJudge], metrics: Sequence[NamedMetric]
) -> Mapping[str, KnownJudge]:
    """Return a run's cards after it was scored again; with another judge they are stale."""
    built: dict[str, Any] = {named.name: named.metric for named in metrics}
    return {
        name: item
        if item.card.identity == metric_identity(built[name])
        else replace(item, stale=_OTHER_JUDGE)
        for name, item in known.items()
        if name in built
    }


def _hold(card: JudgeCard, metric: Any, folder: Path) -> KnownJudge:
    """Return a card, and what of its judge, prompt and labels is not as it was."""
    labels = hash_of(folder / card.labels)
    if card.identity != metric_identity(metric):
        stale = _OTHER_JUDGE
    elif labels is None:
        stale = f"its labels, {card.labels}, are not there any more"
    elif labels != card.labels_hash:
        stale = f"its labels, {card.labels}, changed since"
    else:
        stale = ""
    return KnownJudge(card=card, stale=stale)
