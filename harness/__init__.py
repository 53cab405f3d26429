"""End-to-end evaluation of retrieval-augmented generation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.library import Evaluation as Evaluation
    from harness.library import evaluate as evaluate

__version__ = "0.1.0"
__all__ = ["Evaluation", "__version__", "evaluate"]


def __getattr__(name: str) -> Any:
    """Import the library's functions when they are asked for, so that `--help` need not."""
    if name in ("Evaluation", "evaluate"):
        from harness import library

        return getattr(library, name)
    raise AttributeError(f"module 'harness' has no attribute {name!r}")
