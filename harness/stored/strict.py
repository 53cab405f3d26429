"""The form that all stored lines have."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

_MOST = 2**53

Whole = Annotated[int, Field(ge=-_MOST, le=_MOST)]
"""A whole number that a float holds exactly: means and money are made of them."""

Number = Annotated[float, Field(ge=-1e100, le=1e100)]
"""A number that can be squared and summed with others, and still is one."""


class Stored(BaseModel):
    """A frozen line: no key that is not known, no NaN."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
