"""A judge's calibration card: its verdicts against people's labels (METRICS.md, section 6)."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from harness.errors import HarnessError
from harness.stats.aggregate_scores import Defined
from harness.stats.agreement import alpha, kappa
from harness.stats.corrected_mean import check_columns, check_length, check_values
from harness.stats.estimate import Estimate, Figures, estimate_figures
from harness.stats.intervals import mean_interval
from harness.stats.rank_correlation import spearman

Floats = NDArray[np.float64]
Scale = Literal["binary", "grades", "shares"]

TOP_GRADE = 3
MIN_OF_CLASS = 10
"""Items of either label in each half, from which on a threshold is looked for."""
_DRAWS = 10_000
_ROUNDING = 1e-9
_MAX_BINS = 10


@dataclass(frozen=True)
class LabelledItem:
    """One item: the labels that people gave it, and the judge's verdict."""

    item: str
    labels: tuple[float, ...]
    verdict: float
    cluster: str


@dataclass(frozen=True)
class Bin:
    """The items of one verdict, or of verdicts close by: a point of the reliability diagram."""

    verdict: float
    label: Estimate


@dataclass(frozen=True)
class Ceiling:
    """How far people agree, where several labelled an item: no judge can be held to more.

    `alpha` is Krippendorff's; `agreement` is how often one person says what most others say.
    """

    alpha: Estimate
    agreement: Estimate


@dataclass(frozen=True)
class Card:
    """What verdicts are worth, held against people's labels; a figure without a value says why.

    Attributes:
        n: Items.
        base_rate: Share of items that people label 1.
        accuracy: Share of items on which judge and people agree.
        commonest: Accuracy of always giving the commonest label.
        sensitivity: Share of items labelled 1 that the judge finds.
        specificity: Share of items labelled 0 that it leaves out.
        balanced_accuracy: Mean of the two; 0.5 is chance.
        kappa: Cohen's: agreement beyond chance, from -1 to 1.
        weighted_kappa: The same on a scale of grades, disagreements weighted by their square.
        pearson: Correlation of verdicts and labels; its square bounds what labels it saves.
        spearman: Rank correlation.
        confusion: Items by label (0, 1) and verdict (0, 1); None where grades were not cut.
        bins: The reliability diagram.
        threshold: Verdicts from here on count as 1; None where nothing was cut.
        threshold_note: Where the threshold comes from, or why there is none.
        ties: Items left out, since as many people said 1 as 0.
        ceiling: None where each item has one label.
    """

    n: int
    base_rate: Estimate
    accuracy: Estimate
    commonest: float
    sensitivity: Estimate
    specificity: Estimate
    balanced_accuracy: Estimate
    kappa: Estimate
    weighted_kappa: Estimate
    pearson: Estimate
    spearman: Estimate
    confusion: tuple[tuple[int, int], tuple[int, int]] | None
    bins: tuple[Bin, ...]
    threshold: float | None = None
    threshold_note: str = ""
    ties: int = 0
    ceiling: Ceiling | None = None

    @property
    def chance(self) -> bool:
        """Whether the judge is not shown to be better than chance."""
        value, low, high = (
            getattr(self.balanced_accuracy, key) for key in ("value", "low", "high")
        )
        if low is None or high is None:
            return value is not None and value <= 0.5  # one verdict for all has no spread
        return bool(low <= 0.5 <= high)


def calibrate(
    labels: Sequence[float] | Floats | Any,
    verdicts: Sequence[float] | Floats | None = None,
    *,
    threshold: float | Literal["halves"] | None = None,
    clusters: Sequence[Hashable] | None = None,
    items: Sequence[Hashable] | None = None,
    raters: Sequence[Hashable] | None = None,
    seed: int = 7,
    salt: str = "",
) -> Card:
    """Return the calibration card of a judge: its verdicts against people's labels.

    Args:
        labels: People's label of each row: 0 and 1, grades 0 to 3, or shares from 0 to 1. Or a
            frame with columns `label`, `verdict` and, if wanted, `cluster`, `item` and `rater`.
        verdicts: The judge's verdict on each row's item.
        threshold: Verdicts from here on count as 1, and labels that are no 0 or 1 likewise.
            "halves": the best on one half of the items; the card is then of the other half.
        clusters: The cluster of each row; None: each item alone.
        items: The item of each row, where several people labelled one.
        raters: Who gave each label.
        seed: Of the intervals, and with `salt` of the halves.
        salt: What else the halves depend on: the hash of the file of labels.

    Raises:
        HarnessError: a value is missing or out of range, an item has two labels of one person, or
            labels and verdicts are on different scales and no threshold is given.
    """
    if hasattr(labels, "columns"):
        frame: Any = labels
        check_columns(frame, ("label", "verdict"))
        clusters, items, raters = (
            frame[name].tolist() if name in frame.columns else None
            for name in ("cluster", "item", "rater")
        )
        verdicts, labels = frame["verdict"].to_numpy(), frame["label"].to_numpy()
    verdicts = () if verdicts is None else verdicts
    columns = {"verdicts": verdicts, "clusters": clusters, "items": items, "raters": raters}
    for name, column in columns.items():
        if column is not None:
            check_length(name, column, "labels", labels)
    given = [
        check_values(name, column, -math.inf, math.inf)
        for name, column in (("labels", labels), ("verdicts", verdicts))
    ]
    rows = zip(
        items or range(len(labels)),
        raters or [""] * len(labels),
        *(column.tolist() for column in given),
        clusters or [None] * len(labels),
        strict=True,
    )
    return make_card(gather_items(rows), threshold, seed, salt)


def gather_items(
    rows: Iterable[tuple[Hashable, Hashable, float, float, Hashable]],
) -> list[LabelledItem]:
    """Return the items of rows of item, rater, label, verdict and cluster (None: its own).

    Raises:
        HarnessError: one person labelled an item twice, or it has two verdicts or clusters.
    """
    by_item: dict[Hashable, dict[Hashable, float]] = defaultdict(dict)
    others: dict[Hashable, tuple[float, Hashable]] = {}
    for item, rater, label, verdict, cluster in rows:
        if by_item[item].setdefault(rater, label) != label:
            who = f" of {rater!r}" if rater else ""
            raise HarnessError(
                f"item {item!r} has two different labels{who}\n"
                "  keep one, or say in a column `rater` who gave each"
            )
        if others.setdefault(item, (verdict, cluster)) != (verdict, cluster):
            raise HarnessError(f"item {item!r} has two different verdicts or clusters")
    return [
        LabelledItem(
            str(item),
            tuple(by_item[item].values()),
            verdict,
            f"\0{item}" if cluster is None else str(cluster),
        )
        for item, (verdict, cluster) in others.items()
    ]


def make_card(
    items: Sequence[LabelledItem],
    threshold: float | Literal["halves"] | None = None,
    seed: int = 7,
    salt: str = "",
    one_scale: bool = False,
) -> Card:
    """Return the card of labelled items; see `calibrate`.

    `one_scale`: labels and verdicts are known to be on one scale from 0 to 1.
    """
    if not items:
        raise HarnessError("no item has a label and a verdict")
    label_scale, label_top = _scale([label for item in items for label in item.labels], "labels")
    verdict_scale, verdict_top = _scale([item.verdict for item in items], "verdicts")
    if one_scale and label_scale != verdict_scale:
        label_scale = verdict_scale = "shares"
    graded = {scale for scale in (label_scale, verdict_scale) if scale != "binary"}
    tops = {top for scale, top in ((label_scale, label_top), (verdict_scale, verdict_top))
            if scale != "binary"}  # fmt: skip
    if len(tops) > 1 or (len(graded) == 1 and label_scale != verdict_scale and threshold is None):
        hint = (
            "bring both to one scale"
            if len(tops) > 1
            else "name where they are cut: --threshold 2, or --threshold halves"
        )
        raise HarnessError(
            "labels and verdicts are on different scales: labels "
            f"{_describe(label_scale, label_top)}, verdicts {_describe(verdict_scale, verdict_top)}"
            f"\n  {hint}"
        )
    top = max(tops, default=1)
    combined = [combine_labels(item.labels, label_scale == "binary") for item in items]
    used = [item for item, label in zip(items, combined, strict=True) if label is not None]
    y = np.array([label for label in combined if label is not None]) / label_top
    f = np.array([item.verdict for item in used]) / verdict_top
    if not used:
        raise HarnessError("of every item as many people said 1 as 0")
    clusters = [item.cluster for item in used]
    cut, note = None if threshold in (None, "halves") else float(threshold or 0) / top, "as given"
    if cut is not None and not 0 < cut <= 1:
        raise HarnessError(f"threshold {threshold} is not above 0 and at most {top}")
    if threshold == "halves" and graded:
        cut, note, chosen = _choose_threshold(y, f, clusters, label_scale == "binary", seed, salt)
        if cut is not None:
            y, f, clusters = y[chosen], f[chosen], [clusters[index] for index in chosen]
    cut_columns = None
    if not graded or cut is not None:
        least = 1.0 if cut is None else cut - _ROUNDING
        cut_y = y if label_scale == "binary" else (y >= least).astype(np.float64)
        cut_f = f if verdict_scale == "binary" else (f >= least).astype(np.float64)
        cut_columns = cut_y, cut_f
    shown = None if not graded or cut is None else round(cut * top, 9)
    if not graded or (shown is None and threshold != "halves"):
        note = ""
    return replace(
        _measure(y, f, cut_columns, clusters, seed),
        threshold=shown,
        threshold_note=note,
        ties=len(items) - len(used),
        ceiling=_ceiling(items, label_scale, seed),
    )


def _measure(
    y: Floats, f: Floats, cut: tuple[Floats, Floats] | None, clusters: Sequence[str], seed: int
) -> Card:
    """Return the card of labels and verdicts, with what they are once cut into 0 and 1."""
    n = len(y)
    classes = y if cut is None else cut[0]
    same = None if np.ptp(classes) else f"all labels are {classes[0]:g}"

    def nothing(reason: str) -> Estimate:
        return Estimate(None, None, None, n, reason)

    def share(values: Floats, of: NDArray[np.bool_] | None = None) -> Estimate:
        kept = values if of is None else values[of]
        inside = (
            clusters if of is None else [clusters[index] for index in np.flatnonzero(of).tolist()]
        )
        if not len(kept):
            return Estimate(None, None, None, 0, same or "")
        ends = mean_interval(kept, inside)
        return Estimate(float(kept.mean()), ends.low, ends.high, len(kept), ends.reason)

    if cut is None:
        agree = np.abs(y - f) <= _ROUNDING
        uncut = nothing("grades have no classes: name a threshold")
        base = sensitivity = specificity = balanced = cohen = uncut
        confusion, commonest = None, max(Counter(np.round(y, 9).tolist()).values()) / n
    else:
        cut_y, cut_f = cut
        agree = cut_y == cut_f
        base, positive = share(cut_y), cut_y == 1
        commonest = max(float(cut_y.mean()), 1 - float(cut_y.mean()))
        sensitivity, specificity = share(cut_f, positive), share(1 - cut_f, ~positive)
        pairs = [(int(a), int(b)) for a, b in zip(cut_y, cut_f, strict=True)]
        counts = Counter(pairs)
        confusion = (
            (counts[0, 0], counts[0, 1]),
            (counts[1, 0], counts[1, 1]),
        )
        if same:
            sensitivity = specificity = balanced = cohen = nothing(same)
        else:
            balanced = _estimate(_balanced_figures(cut_y, cut_f), n, clusters, seed)
            cohen = _unless_one(kappa(pairs, 2, clusters, seed))
    weighted = nothing("not on a shared scale of grades")
    if _is_thirds(y) and _is_thirds(f) and not (_is_binary(y) or _is_binary(f)):
        grades = [(round(a * TOP_GRADE), round(b * TOP_GRADE)) for a, b in zip(y, f, strict=True)]
        weighted = _unless_one(kappa(grades, TOP_GRADE + 1, clusters, seed))
    constant = same or ("all verdicts are the same" if not np.ptp(f) else None)
    if constant:
        linear = rank = nothing(constant)
        weighted = nothing(same) if same else weighted
    else:
        linear = pearson(y, f, clusters, seed)
        rank = _unless_one(spearman(f.tolist(), y.tolist(), clusters, seed))
    return Card(
        n=n,
        base_rate=base,
        accuracy=share(agree.astype(np.float64)),
        commonest=commonest,
        sensitivity=sensitivity,
        specificity=specificity,
        balanced_accuracy=balanced,
        kappa=cohen,
        weighted_kappa=weighted,
        pearson=linear,
        spearman=rank,
        confusion=confusion,
        bins=_bins(y, f, clusters),
    )


def _scale(values: Sequence[float], name: str) -> tuple[Scale, int]:
    """Return the scale of a column, and its highest value."""
    array = np.array(values)
    if array.min() < 0 or array.max() > TOP_GRADE:
        wrong = array.min() if array.min() < 0 else array.max()
        raise HarnessError(
            f"{name}: {wrong:g} is out of range\n  they are 0 or 1, shares from 0 to 1, or grades "
            f"from 0 to {TOP_GRADE}"
        )
    if _is_binary(array):
        return "binary", 1
    if array.max() <= 1:
        return "shares", 1
    if (array != np.round(array)).any():
        raise HarnessError(f"{name}: some are above 1 and some no whole grades")
    return "grades", TOP_GRADE


def _is_binary(values: Floats) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _is_thirds(values: Floats) -> bool:
    return bool((np.abs(values * TOP_GRADE - np.round(values * TOP_GRADE)) <= 1e-6).all())


def _describe(scale: Scale, top: int) -> str:
    return "0 or 1" if scale == "binary" else f"{scale} from 0 to {top}"


def combine_labels(labels: Sequence[float], binary: bool) -> float | None:
    """Return the majority of labels 0 and 1 (None: a tie), of others the lower median."""
    ordered = sorted(labels)
    middle = ordered[(len(ordered) - 1) // 2]
    is_tie = binary and 2 * sum(ordered) == len(ordered)
    return None if is_tie else middle


def _ceiling(items: Sequence[LabelledItem], scale: Scale, seed: int) -> Ceiling | None:
    several = [item for item in items if len(item.labels) > 1]
    if not several:
        return None
    agreements, inside = [], []
    for item in several:
        for index, label in enumerate(item.labels):
            others = item.labels[:index] + item.labels[index + 1 :]
            majority = combine_labels(others, scale == "binary")
            if majority is not None:
                agreements.append(float(label == majority))
                inside.append(item.item)
    top = 1 if scale == "binary" else TOP_GRADE
    factor = TOP_GRADE if scale == "shares" else 1
    if scale == "shares" and not all(_is_thirds(np.array(item.labels)) for item in several):
        measured = Estimate(None, None, None, len(several), "shares are no grades")
    else:
        measured = alpha(
            [[round(label * factor) for label in item.labels] for item in several],
            top + 1,
            "nominal" if scale == "binary" else "ordinal",
            [item.cluster for item in several],
            seed,
        )
    ends = mean_interval(agreements, inside)
    mean = sum(agreements) / len(agreements) if agreements else None
    return Ceiling(measured, Estimate(mean, ends.low, ends.high, len(agreements), ends.reason))


def _choose_threshold(
    y: Floats,
    f: Floats,
    clusters: Sequence[str],
    binary_labels: bool,
    seed: int,
    salt: str,
) -> tuple[float | None, str, list[int]]:
    """Return the best threshold on one half of the clusters, and the items of the other half."""
    names = sorted(set(clusters))
    random.Random(f"{seed} {salt}").shuffle(names)
    first_names = set(names[: len(names) // 2])
    in_first = np.array([cluster in first_names for cluster in clusters])
    best: tuple[float, float] | None = None
    for candidate in np.unique(f):
        labels = y if binary_labels else (y >= candidate - _ROUNDING).astype(float)
        halves = [labels[in_first], labels[~in_first]]
        if candidate and all(
            min(half.sum(), len(half) - half.sum()) >= MIN_OF_CLASS for half in halves
        ):
            verdicts = (f >= candidate - _ROUNDING)[in_first]
            positive = halves[0] == 1
            value = float(verdicts[positive].mean() + (~verdicts[~positive]).mean()) / 2
            best = max(best or (-1.0, 0.0), (round(value, 12), float(candidate)))
    if best is None:
        reason = f"under {MIN_OF_CLASS} items of either label in a half: no threshold is chosen"
        return None, reason, []
    return best[1], "chosen on the other half of the items", np.flatnonzero(~in_first).tolist()


def pearson(y: Floats, f: Floats, groups: Sequence[str], seed: int = 7) -> Estimate:
    """Return Pearson's correlation of two columns, from -1 to 1, with its interval.

    Whole `groups` are drawn. There is none where a column does not vary.
    """
    if len(y) < 2 or not np.ptp(y) or not np.ptp(f):
        return Estimate(None, None, None, len(y), "one of the columns does not vary")
    return _estimate(_pearson_figures(y, f), len(y), groups, seed)


def _estimate(figures: Figures, n: int, names: Sequence[str], seed: int) -> Estimate:
    return _unless_one(estimate_figures(figures, n, names, _DRAWS, seed, ["not defined"])[0])


def _unless_one(estimate: Estimate) -> Estimate:
    """Return an estimate; one of exactly 1 has no interval."""
    if estimate.value is None or estimate.value < 1 - _ROUNDING:
        return estimate
    return Estimate(1.0, None, None, estimate.n, "it is exactly 1: resampling shows no spread")


def _balanced_figures(y: Floats, f: Floats) -> Figures:
    columns = np.stack([y, y * f, 1 - y, (1 - y) * (1 - f)], axis=1)

    def figures(weights: Floats) -> tuple[Floats, Defined]:
        positive, found, negative, left_out = (weights @ columns).T
        defined = (positive > 0) & (negative > 0)
        values = np.zeros(len(weights))
        values[defined] = (
            found[defined] / positive[defined] + left_out[defined] / negative[defined]
        ) / 2
        return values[None], defined[None]

    return figures


def _pearson_figures(y: Floats, f: Floats) -> Figures:
    a, b = y - y.mean(), f - f.mean()
    columns = np.stack([np.ones(len(a)), a, b, a * a, b * b, a * b], axis=1)

    def figures(weights: Floats) -> tuple[Floats, Defined]:
        n, sum_a, sum_b, aa, bb, ab = (weights @ columns).T
        total = np.maximum(n, 1)
        spread_a, spread_b = aa - sum_a**2 / total, bb - sum_b**2 / total
        defined = (spread_a > _ROUNDING) & (spread_b > _ROUNDING)
        spread = np.sqrt(np.where(defined, spread_a * spread_b, 1.0))
        values = np.zeros(len(weights))
        values[defined] = np.clip((ab - sum_a * sum_b / total)[defined] / spread[defined], -1, 1)
        return values[None], defined[None]

    return figures


def _bins(y: Floats, f: Floats, clusters: Sequence[Hashable]) -> tuple[Bin, ...]:
    levels = np.unique(f)
    if len(levels) > _MAX_BINS:
        places = np.minimum((f * _MAX_BINS).astype(int), _MAX_BINS - 1)
    else:
        places = np.searchsorted(levels, f)
    bins = []
    for place in np.unique(places):
        inside = places == place
        ends = mean_interval(
            y[inside], [clusters[index] for index in np.flatnonzero(inside).tolist()]
        )
        estimate = Estimate(
            float(y[inside].mean()), ends.low, ends.high, int(inside.sum()), ends.reason
        )
        bins.append(Bin(float(f[inside].mean()), estimate))
    return tuple(bins)
