"""Where the work of a run is done: on this machine, or on a Ray cluster."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt

_PLACE = re.compile(r"(?:[^\s:/@\[\]]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})")


def holds_password(address: str) -> bool:
    """Return whether there is a password in an address: a colon before the `@` of its host."""
    host = address.partition("://")[2].split("/")[0]
    return ":" in host.rpartition("@")[0]


@dataclass(frozen=True)
class OnRay:
    """A Ray cluster, and the store that its machines and this one share.

    `address` is `local`, which starts a Ray of this run's own, `auto`, the one that RAY_ADDRESS or
    this machine names, or HOST:PORT. `store` is a folder that every machine has under this path, or
    s3://, gs://; none: `shared` in the cache. Each machine keeps its own cache in `scratch`; none:
    below its temporary folder. `encoders` are the processes that embed; none: one a GPU, or where
    there is no GPU one a machine.
    """

    address: str
    store: str | None = None
    scratch: str | None = None
    encoders: Annotated[int, Gt(0)] | None = None

    def __post_init__(self) -> None:
        found = _PLACE.fullmatch(self.address)
        if self.address not in ("local", "auto") and not (found and 0 < int(found[1]) < 1 << 16):
            raise ValueError(
                f"address: {self.address!r} is none: write local, auto or HOST:PORT, "
                "for example 10.0.0.5:6379"
            )
        if self.store is not None and holds_password(self.store):
            raise ValueError("store: no file holds a secret: give its keys in the environment")


@dataclass(frozen=True)
class Execution:
    """What does the work."""

    ray: OnRay
