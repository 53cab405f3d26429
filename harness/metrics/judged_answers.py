"""Answers by a judge: do they fit question and reference, and are they well written?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, answer_case
from harness.metrics.judge import JudgeQuestion, MeanVerdictMetric, answer_to_judge
from harness.metrics.needs import Need
from harness.metrics.references import references
from harness.records import Case, Score, not_scored


@dataclass(frozen=True)
class _JudgedAnswer(MeanVerdictMetric):
    """One verdict on the answer; `shown` names what the judge reads, as its prompt does."""

    shown: ClassVar[tuple[str, ...]]

    def items(self, case: Case) -> list[JudgeQuestion] | Score:
        """Return the answer with what else is shown, or why there is nothing to judge."""
        answer = answer_to_judge(case)
        if isinstance(answer, Score):
            return answer
        gold = references(case)
        if "references" in self.shown and not gold:
            return not_scored("the question has no reference answer")
        texts = {
            "question": case.question.text,
            "references": "\n".join(f"- {reference}" for reference in gold),
            "answer": answer,
        }
        return [self.item("the answer", **{name: texts[name] for name in self.shown})]


@metrics.register
@dataclass(frozen=True)
class AnswerRelevance(_JudgedAnswer):
    """How well the answer addresses the question, 0 to 3 by a judge model, divided by 3.

    Not scored where the system declined or said nothing. 1: the judge finds the question fully
    addressed. 0: not at all. 1/3 and 2/3: in part. From 0 to 1. Source: this harness; the idea is
    that of Es et al., "RAGAS: Automated Evaluation of Retrieval Augmented Generation", 2023.
    """

    name: ClassVar[str] = "answer_relevance"
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "judge"})
    shown: ClassVar[tuple[str, ...]] = ("question", "answer")
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="verdict / 3",
        example=Example(
            "The judge gives an answer that only half addresses the question 2 of 3: "
            "2 / 3 = 0.6667.",
            "answer_relevance",
            [answer_case("Passes are sold at every station.")],
            0.6667,
            verdicts=["2"],
        ),
        use="where answers beside the question are a worry",
        blind="whether the answer is true; and a judge can be talked round",
    )


@metrics.register
@dataclass(frozen=True)
class Correctness(_JudgedAnswer):
    """How far the answer says what a reference says, 0 to 3 by a judge model, divided by 3.

    Any one of several references will do. Not scored where the system declined or said nothing. 1:
    it says all of a reference and nothing against it. 0: wrong. 1/3 and 2/3: in part. From 0 to 1.
    Source: this harness; the method is that of Zheng et al., "Judging LLM-as-a-Judge with MT-Bench
    and Chatbot Arena", 2023.
    """

    name: ClassVar[str] = "correctness"
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "references", "judge"})
    shown: ClassVar[tuple[str, ...]] = ("question", "references", "answer")
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="verdict / 3",
        example=Example(
            "The judge gives “6 dollars” against the reference “6 dollars a day” 2 of 3: "
            "2 / 3 = 0.6667.",
            "correctness",
            [answer_case("6 dollars", "6 dollars a day")],
            0.6667,
            verdicts=["2"],
        ),
        use="where a right answer may be worded freely",
        blind="an error in a reference; and a judge can be talked round",
    )


@metrics.register
@dataclass(frozen=True)
class Completeness(_JudgedAnswer):
    """How much of what a reference says the answer contains, 0 to 3 by a judge model, over 3.

    What the answer says besides does not count against it. Any one of several references will do.
    Not scored where the system declined or said nothing. 1: it says all of a reference. 0: none of
    it. 1/3 and 2/3: in part. From 0 to 1. Source: this harness; the idea is that of nugget recall,
    Voorhees, "Overview of the TREC 2003 Question Answering Track", 2003.
    """

    name: ClassVar[str] = "completeness"
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "references", "judge"})
    shown: ClassVar[tuple[str, ...]] = ("question", "references", "answer")
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="verdict / 3",
        example=Example(
            "The judge gives “Phobos” against the reference “Phobos and Deimos” 1 of 3: "
            "1 / 3 = 0.3333.",
            "completeness",
            [answer_case("Phobos", "Phobos and Deimos")],
            0.3333,
            verdicts=["1"],
        ),
        use="where an answer must leave nothing out",
        blind="what the answer says beyond the reference, right or wrong",
    )


@metrics.register
@dataclass(frozen=True)
class Fluency(_JudgedAnswer):
    """The answer's grammar and wording, 0 to 3 by a judge model, divided by 3.

    Not scored where the system declined or said nothing. 1: faultless. 0: not readable. 1/3 and
    2/3: errors that disturb much or little. From 0 to 1. Source: this harness; the criterion is
    that of Fabbri et al., "SummEval: Re-evaluating Summarization Evaluation", 2021.
    """

    name: ClassVar[str] = "fluency"
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "judge"})
    shown: ClassVar[tuple[str, ...]] = ("answer",)
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="verdict / 3",
        example=Example(
            "The judge gives “Day pass cost 6 dollar.” 1 of 3: 1 / 3 = 0.3333.",
            "fluency",
            [answer_case("Day pass cost 6 dollar.")],
            0.3333,
            verdicts=["1"],
        ),
        use="for small models, and languages that a model knows badly",
        blind="anything of what the answer says",
    )
