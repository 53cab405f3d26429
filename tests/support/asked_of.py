"""What a generator answers when it is asked several questions, as many at once as it allows."""

from functools import partial

from harness.models import concurrency


def answered(generator, asked):
    """Ask each (key, question, context, sample); return the results as they came."""
    results = []
    wanted = ((key, partial(generator.answer, *what)) for key, *what in asked)
    concurrency.call_all(wanted, generator.at_once, results.append)
    return results
