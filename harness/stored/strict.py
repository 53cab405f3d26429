"""The form that all stored lines have."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Stored(BaseModel):
    """A frozen line: no key that is not known, no NaN."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
