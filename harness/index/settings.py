"""How vectors are indexed and compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt


@dataclass(frozen=True)
class IndexSettings:
    """Chroma's HNSW settings, stated in full: the library's own defaults never apply.

    With `exact` every vector is compared, without Chroma.
    """

    space: Literal["cosine", "l2", "ip"] = "cosine"
    max_neighbors: Annotated[int, Ge(2)] = 16
    ef_construction: Annotated[int, Gt(0)] = 100
    ef_search: Annotated[int, Gt(0)] = 100
    exact: bool = False

    version: ClassVar[int] = 2
