"""A stored run with parts of it replaced, to try what a report makes of them."""

from dataclasses import replace


def with_records(stored, change):
    """Return the run with each record as `change` makes it."""
    return replace(stored, records=tuple(map(change, stored.records)))


def with_cells(stored, change):
    """Return the run with each cell as `change` makes it."""
    return replace(stored, run=replace(stored.run, cells=[*map(change, stored.run.cells)]))


def lost(stored, stages, **more):
    """Return the run as it would be had each cell lost its questions at these stages, by id."""
    return with_records(
        stored,
        lambda record: replace(record, lost_at=stages.get(record.question), error=None, **more),
    )
