"""Types: the inputs that a metric needs, and the kind of number it gives."""

from __future__ import annotations

from typing import Literal

Need = Literal[
    "evidence", "documents", "keywords", "references", "ranking", "context", "answer", "judge"
]
"""What a metric reads. The first four are gold, given by the test set; the next three are results,
and the last is a chat model that it asks."""

Kind = Literal["quality", "whole set", "descriptive"]
"""`quality`: in [0, 1], higher is better. `whole set`: computed from counts over all questions,
never a mean of theirs. `descriptive`: never compared, gated or averaged into others."""
