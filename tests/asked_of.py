"""What a generator answers when it is asked several questions, as many at once as it allows."""

from functools import partial

from harness import calls


def answered(generator, asked, keep=lambda done: None):
    """Ask each (key, question, context, sample), and yield each result as soon as it is there."""
    wanted = ((key, partial(generator.answer, *what)) for key, *what in asked)
    return calls.done(wanted, generator.at_once, keep)
