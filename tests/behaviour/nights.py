"""Give commands on days that a test chose, as JSON on standard input says.

It is a list of [DAY, [ARGUMENT, ...], {FILE: TEXT}]; the files are written before the command is
given. Prints a list of what each came to: exit status, standard output and standard error.
"""

import contextlib
import datetime
import json
import os
import runpy
import sys
import tempfile
from collections.abc import Iterator

REAL = datetime.datetime
"""Python's own class; harness asks it for the time."""


class _Told(type(REAL)):
    def __instancecheck__(cls, thing):
        return isinstance(thing, REAL)


class Clock(REAL, metaclass=_Told):
    """The class of dates and times, with a clock that stands still at half past two."""

    day = datetime.date(2026, 1, 1)

    @classmethod
    def now(cls, tz=None):
        moment = REAL.combine(cls.day, datetime.time(2, 30), datetime.UTC)
        return moment.astimezone(tz) if tz else moment.replace(tzinfo=None)


def given(arguments: list[str]) -> tuple[int, str, str]:
    sys.argv = ["harness", *arguments]
    status = 0
    with written_to(1) as out, written_to(2) as err:
        try:
            runpy.run_module("harness", run_name="__main__")
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
    return status, out.pop(), err.pop()


@contextlib.contextmanager
def written_to(number: int) -> Iterator[list[str]]:
    """Catch what goes to an open file of the system, whoever writes it; yields where it lies."""
    caught: list[str] = []
    own = os.dup(number)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), number)
        try:
            yield caught
        finally:
            (sys.stdout if number == 1 else sys.stderr).flush()
            os.dup2(own, number)
            os.close(own)
        file.seek(0)
        caught.append(file.read().decode("utf-8"))


if __name__ == "__main__":
    datetime.datetime = Clock
    results = []
    for day, arguments, files in json.load(sys.stdin):
        Clock.day = datetime.date.fromisoformat(day)
        for name, text in files.items():
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        results.append(given(arguments))
    json.dump(results, sys.stdout)
