"""Every error a user can cause.

* HarnessError
  x SpecError        one component's name or parameters are wrong; `config` adds the place
  x InputError       a file that a person wrote is wrong; holds all of its problems
    + ConfigError    the YAML
    + DataError      a corpus or a test set
  x ModelError       a model cannot be found, or is not the one that was published
  x MissingExtra     an optional dependency is not installed
  x StageError       a component gave up on one question; becomes a recorded failure
  x RunError         the run as a whole cannot finish

`cli` prints a `HarnessError` without a traceback and exits with its `status`. Anything else that
escapes is a bug in the harness, and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

from harness import limits
from harness.text.escaping import is_visible
from harness.text.secrets import redact

T = TypeVar("T")


class HarnessError(Exception):
    """Base class of every error whose message is meant for the user.

    Whatever it quotes, the message is bounded, and holds nothing that a terminal would obey, nor a
    secret of the environment.
    """

    status: ClassVar[int] = 2

    def __init__(self, message: object = "") -> None:
        super().__init__(_sanitize(redact(str(message))))


def _sanitize(message: str) -> str:
    """Return the message with long lines cut, and what no terminal shows written as an escape."""
    lines = message.split("\n", limits.MAX_MESSAGE_LINES)
    if len(lines) > limits.MAX_MESSAGE_LINES:
        lines[limits.MAX_MESSAGE_LINES :] = [
            f"  and {lines[limits.MAX_MESSAGE_LINES].count(chr(10)) + 1:,} more lines"
        ]
    return "\n".join(map(_sanitize_line, lines))


def _sanitize_line(line: str) -> str:
    line = (
        line
        if len(line) <= limits.MAX_MESSAGE_LINE_CHARS
        else f"{line[: limits.MAX_MESSAGE_LINE_CHARS - 1]}…"
    )
    if line.isprintable():
        return line
    return "".join(c if is_visible(c) else c.encode("unicode_escape").decode() for c in line)


class SpecError(HarnessError):
    """A component was asked for by a name, or with a parameter, that it does not have."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}\n  {hint}" if hint else message)
        self.what = message
        self.hint = hint


@dataclass(frozen=True)
class Problem:
    """What is wrong at one place in a file, and what would put it right."""

    where: str
    what: str
    hint: str = ""


def first_problems(problems: Sequence[Problem], most: int = 100) -> list[Problem]:
    """Return the first problems, and how many more there are, if reading did not stop early."""
    if len(problems) <= most:
        return list(problems)
    more = f"{len(problems) - most:,} more" if len(problems) < limits.MAX_PROBLEMS else "more"
    return [*problems[:most], Problem(f"and {more}", "problems of such kinds")]


class InputError(HarnessError):
    """The problems of one file or folder, all of them at once."""

    heading: ClassVar[str] = "cannot be used"

    def __init__(self, path: str, problems: Iterable[Problem]) -> None:
        self.path = path
        self.problems = tuple(problems)
        lines = [f"{_escape_newlines(path)} {self.heading}:"]
        for problem in self.problems:
            lines.append(f"  {_escape_newlines(problem.where)}: {problem.what}")
            if problem.hint:
                lines.append(f"    {problem.hint}")
        super().__init__("\n".join(lines))

    def named_problems(self) -> list[Problem]:
        """Return the problems with the file's name, for a message about several files."""
        return [replace(item, where=f"{self.path}, {item.where}") for item in self.problems]


def join_errors(errors: Sequence[InputError]) -> InputError:
    """Return one error with the problems of several files: the first's, then those of others."""
    first, *others = errors
    more = [problem for error in others for problem in error.named_problems()]
    return type(first)(first.path, [*first.problems, *more]) if more else first


def _escape_newlines(name: str) -> str:
    return name.replace("\n", "\\n")


class ConfigError(InputError):
    """The problems of one configuration file."""

    heading = "is not a valid configuration"


class DataError(InputError):
    """The problems of one corpus or one test set."""

    heading = "cannot be read"


class ModelError(HarnessError):
    """A model that the config names cannot be loaded; says where it was looked for."""


class MissingExtra(HarnessError):
    """An optional dependency is not installed; says which command installs it."""

    def __init__(self, user: str, library: str, extra: str) -> None:
        from harness.files.requirements import install_command

        super().__init__(
            f"{user} needs a library that is not installed: {library}\n  {install_command(extra)}"
        )


class StageError(HarnessError):
    """A component gave up on one question.

    `runs` records it as that question's failure; it never becomes a number.
    """


class RunError(HarnessError):
    """The run cannot finish: too many failures, or a file that cannot be written half-way."""

    status = 3


def one_of(value: object, option: str, choices: tuple[T, ...]) -> T:
    """Return what was given for an option, if it is one of those known.

    Raises:
        HarnessError: it is none of them.
    """
    for choice in choices:
        if choice == value:
            return choice
    hint = suggest(str(value), map(str, choices))
    raise HarnessError(f"{option} {value!r} is not known\n  {hint}")


def suggest(word: str, choices: Iterable[str]) -> str:
    """Return a hint naming the closest of `choices` to `word`, then all of them."""
    choices = sorted(choices)
    close = difflib.get_close_matches(word[: limits.MAX_SUGGESTED_NAME_CHARS], choices, n=1)
    question = f"did you mean {close[0]!r}? " if close else ""
    return f"{question}choose from: {', '.join(choices)}"
