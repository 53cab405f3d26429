"""End-to-end evaluation of retrieval-augmented generation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.evaluation import Evaluation as Evaluation
    from harness.imported_answers import evaluate_answers as evaluate_answers
    from harness.imported_runs import evaluate_run as evaluate_run
    from harness.library import evaluate as evaluate
    from harness.library_runs import apply_gate as apply_gate
    from harness.library_runs import compare as compare
    from harness.library_runs import read_history as read_history
    from harness.trec import read_qrels as read_qrels
    from harness.trec import read_run as read_run

__version__ = "0.1.0"
__all__ = [
    "Evaluation",
    "__version__",
    "apply_gate",
    "compare",
    "evaluate",
    "evaluate_answers",
    "evaluate_run",
    "read_history",
    "read_qrels",
    "read_run",
]

_HOMES = {
    "Evaluation": "evaluation",
    "apply_gate": "library_runs",
    "compare": "library_runs",
    "evaluate": "library",
    "evaluate_answers": "imported_answers",
    "evaluate_run": "imported_runs",
    "read_history": "library_runs",
    "read_qrels": "trec",
    "read_run": "trec",
}


def __getattr__(name: str) -> Any:
    """Import the library's functions when they are asked for, so that `--help` need not."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"harness.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'harness' has no attribute {name!r}")
