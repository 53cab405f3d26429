"""End-to-end evaluation of retrieval-augmented generation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.evaluation import Evaluation as Evaluation
    from harness.imported import evaluate_answers as evaluate_answers
    from harness.imported import evaluate_run as evaluate_run
    from harness.library import evaluate as evaluate

__version__ = "0.1.0"
__all__ = ["Evaluation", "__version__", "evaluate", "evaluate_answers", "evaluate_run"]

_HOMES = {
    "Evaluation": "evaluation",
    "evaluate": "library",
    "evaluate_answers": "imported",
    "evaluate_run": "imported",
}


def __getattr__(name: str) -> Any:
    """Import the library's functions when they are asked for, so that `--help` need not."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"harness.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'harness' has no attribute {name!r}")
