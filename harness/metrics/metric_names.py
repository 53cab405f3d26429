"""The names that metrics have elsewhere, in the form that they have here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

from harness.metrics import metrics

_TREC_NAMES = {
    "map": "ap",
    "map_cut": "ap",
    "ndcg_cut": "ndcg",
    "p": "precision",
    "recip_rank": "mrr",
    "rprec": "r_precision",
    "rr": "mrr",
    "success": "hit_rate",
}
"""Names of trec_eval and ir_measures, in lower case."""
_CUT = re.compile(r"(?P<name>map_cut|ndcg_cut|p|recall|success)[_.](?P<k>[0-9]+)", re.IGNORECASE)
_NAME = re.compile(r"\w+")


def usual_name(text: str) -> str:
    """Return a metric's spec with the name that it has here: `NDCG@10` and `ndcg_cut_10` have one.

    Letter case of names does not matter, and trec_eval's names are known: `P_5`, `map`,
    `recip_rank`. Anything else is returned as it is.
    """
    text = text.strip()
    if cut := _CUT.fullmatch(text):
        name = cut["name"].lower()
        return f"{_TREC_NAMES.get(name, name)}@{cut['k']}"
    name = _NAME.match(text)
    if name is None or text[name.end() :].startswith((":", ".")) or name[0] in metrics:
        return text
    lower = name[0].lower()
    here = {known.lower(): known for known in metrics}
    usual = here.get(lower) or _TREC_NAMES.get(lower)
    return text if usual is None else usual + text[name.end() :]


def usual_names(value: Any) -> Any:
    """Return a name, specs, or a mapping by name, with the usual names of the metrics."""
    if isinstance(value, str):
        return usual_name(value)
    if isinstance(value, list):
        return [usual_names(item) for item in value]
    if isinstance(value, Mapping):
        return {usual_names(key): item for key, item in value.items()}
    return value


Renamed = BeforeValidator(usual_names)
"""Gives metrics their usual names: a name, a list of specs, or a mapping by name."""
MetricName = Annotated[str, Renamed]
