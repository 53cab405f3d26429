"""Questions to answers: those that are kept, and then those that a generator has to be asked."""

from __future__ import annotations

from collections.abc import Generator as Yields
from collections.abc import Sequence
from contextlib import closing

from harness.answering import Done, answered
from harness.generators import Generator
from harness.kept import Answered, Answers, Asked


def known_or_asked(
    generator: Generator, wanted: Sequence[Asked], kept: Answers
) -> Yields[Done[Asked], None, None]:
    """Yield the answer to each (question, context, sample) as soon as it is there.

    What `kept` knows comes first, and it keeps what is new; a failure is not kept.

    Raises:
        Exception: what a call raised, other than `StageError`.
    """
    known = kept.get(wanted)
    for key, found in known.items():
        yield Done[Asked](key, found.answer, None, found.seconds)

    def keep(done: Done[Asked]) -> None:
        if done.failure is None:
            kept.put(done.key, Answered(done.answer, done.seconds))

    new = [(key, *key) for key in wanted if key not in known]
    if new:
        with closing(answered(generator, new, spare=keep)) as calls:
            for done in calls:
                keep(done)
                yield done
