"""A list of English stop words."""

from __future__ import annotations

_ENGLISH = """
a about after all also an and any are as at be because been before being but by can could did do
does during each for from had has have he her his how i if in into is it its many may me more most
much must my no nor not of off on once only or other our out over own per same shall she should so
some such than that the their them then there these they this those to under until up us was we
were what when where which while who whom whose why will with would you your
"""
ENGLISH = frozenset(_ENGLISH.split())
