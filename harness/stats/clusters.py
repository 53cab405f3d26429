"""Clusters questions that share an evidence document, directly or through other questions."""

from __future__ import annotations

from collections.abc import Iterable

from harness.records import Question


def find_clusters(questions: Iterable[Question]) -> dict[str, str]:
    """Return the cluster of each question, named by the first question that is in it.

    Questions are linked by the documents of their evidence, or without evidence by the documents
    judged relevant to them; links count through others. A question with neither is alone.
    """
    parent: dict[str, str] = {}
    holder: dict[str, str] = {}

    def root(id_: str) -> str:
        while parent[id_] != id_:
            id_ = parent[id_]
        return id_

    for question in questions:
        parent[question.id] = question.id
        for document in _documents(question):
            first = root(holder.setdefault(document, question.id))
            parent[root(question.id)] = first
    return {id_: root(id_) for id_ in parent}


def _documents(question: Question) -> list[str]:
    if question.passages:
        return sorted({passage.span.doc for passage in question.passages})
    return sorted(doc for doc, grade in (question.documents or {}).items() if grade > 0)
