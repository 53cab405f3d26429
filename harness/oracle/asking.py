"""The oracle's questions to their answers: a generator is asked, and nothing else."""

from __future__ import annotations

from collections.abc import Generator as Yields
from collections.abc import Iterable, Sequence
from contextlib import closing

from harness.answers import Done, known_or_asked
from harness.generators import Generator
from harness.kept import Answers, Asked
from harness.oracle.given import Put
from harness.records import Answer
from harness.stored import FailureLine, OracleRecordLine, UsageLine
from harness.sweep import Cell


def generators(cells: Iterable[Cell]) -> dict[str, Cell]:
    """Return by its name each generator of a grid that answers, as the first cell that has it."""
    found: dict[str, Cell] = {}
    for cell in cells:
        if cell.generator.answers:
            found.setdefault(str(cell.labels()["generator"]), cell)
    return found


def ask(
    name: str, generator: Generator, puts: Sequence[Put], kept: Answers
) -> Yields[OracleRecordLine, None, None]:
    """Yield the record of each question as soon as it is there, without scores.

    What `kept` knows comes first, and it keeps what is made; a failure is a record too. Those that
    are not asked come last. Of a generator that answers several times only the first answer is
    asked for.
    """
    asked: dict[Asked, list[Put]] = {}
    for put in puts:
        if put.context is not None:
            asked.setdefault((put.question.text, put.context, 0), []).append(put)

    with closing(known_or_asked(generator, list(asked), kept)) as calls:
        for done in calls:
            for put in asked[done.key]:
                yield _record(name, put, done)
    yield from (_record(name, put, None) for put in puts if put.context is None)


def _record(name: str, put: Put, done: Done | None) -> OracleRecordLine:
    answer = None if done is None else done.answer
    failure = None if done is None else done.failure
    return OracleRecordLine(
        generator=name,
        given=put.given,
        question=put.question.id,
        context=put.context,
        answer=None if answer is None else answer.text,
        declined=None if answer is None else answer.declined,
        answered=None,
        usage=None if answer is None else _usage(answer),
        seconds=0.0 if done is None else done.seconds,
        scores={},
        error=None if failure is None else FailureLine(stage="generation", reason=failure),
    )


def _usage(answer: Answer) -> UsageLine:
    return UsageLine(
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
        model=answer.model,
        finish=answer.finish,
    )
