"""The table of the long tests: whatever an ordeal comes to, it is a line, and the others go on."""

import sys
import types

import pytest

from torture import table
from torture.ordeal import Ordeal


@pytest.fixture
def ordeals(monkeypatch):
    """Return a module of ordeals: one that holds, one that dies, one that is ended by a person."""
    module = types.ModuleType("torture.made_up")
    module.good = lambda: Ordeal("what holds", 7)
    module.dies = lambda: [][0]

    def ended():
        raise KeyboardInterrupt

    module.ended = ended
    monkeypatch.setitem(sys.modules, "torture.made_up", module)
    names = {name: f"made_up:{name}" for name in ("dies", "good", "ended", "missing")}
    monkeypatch.setattr(table, "ORDEALS", names)


def test_an_ordeal_that_raises_is_broken_and_the_next_ones_go_on(ordeals, capsys):
    assert table.main(["dies", "missing", "good"]) == 1

    assert capsys.readouterr().out.splitlines()[2:] == [
        "| dies | 1 | 0 | 1: the ordeal itself: IndexError: list index out of range |",
        "| missing | 1 | 0 | 1: the ordeal itself: AttributeError: "
        "module 'torture.made_up' has no attribute 'missing' |",
        "| what holds | 7 | 0 | nothing |",
    ]


def test_all_ordeals_are_ended_by_the_person_who_waits(ordeals):
    with pytest.raises(KeyboardInterrupt):
        table.main(["ended", "good"])


def test_ordeals_that_hold_end_with_status_0(ordeals):
    assert table.main(["good"]) == 0
