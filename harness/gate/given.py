"""Rules given as a mapping, in the form that they have in a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.comparing.sides import Side
from harness.errors import ConfigError, Problem
from harness.places import Places
from harness.rules import Gate, misfits
from harness.yamlfile import YamlFile


class _Rules(BaseModel):
    """Refuses unknown keys as a configuration does, in the gate too."""

    model_config = ConfigDict(extra="forbid")

    gate: Gate


_NOWHERE = YamlFile({}, {})
_PLACES = Places(_NOWHERE, {})


def checked(rules: Mapping[str, Any], run: Side) -> Gate:
    """Return the gate that `rules` make, fit for a run.

    Raises:
        ConfigError: with all that is wrong, and its place under `gate`.
    """
    try:
        found = _Rules.model_validate({"gate": rules}).gate
    except ValidationError as error:
        raise ConfigError("rules", [_problem(each) for each in error.errors()]) from None
    kinds = {name: about.kind for name, about in run.provenance.metrics.items()}
    problems = [*misfits(found, kinds, run.cells, lambda *place: _NOWHERE.where(place))]
    if problems:
        raise ConfigError("rules", problems)
    return found


def _problem(error: Any) -> Problem:
    return replace(_PLACES.misfit(error), where=_NOWHERE.where(error["loc"]))
