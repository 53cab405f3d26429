"""The `execution` key: whether the work of a run is done on this machine or on a Ray cluster."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt

_HOST_AND_PORT = re.compile(r"(?:[^\s:/@\[\]]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})")


@dataclass(frozen=True)
class OnRay:
    """A Ray cluster, and the store that its machines and this one share.

    `address` is `local`, which starts a Ray of this run's own, `auto`, the one that RAY_ADDRESS or
    this machine names, or HOST:PORT. `store` is a folder that every machine has under this path, or
    s3://, gs://; none: `shared` in the cache. Each machine keeps its own cache in `scratch`; none:
    below its temporary folder. `encoders` are the tasks that embed at once; none: one a GPU, or
    where there is no GPU one a machine.
    """

    address: str
    store: str | None = None
    scratch: str | None = None
    encoders: Annotated[int, Gt(0)] | None = None

    def __post_init__(self) -> None:
        match = _HOST_AND_PORT.fullmatch(self.address)
        if self.address not in ("local", "auto") and not (match and 0 < int(match[1]) < 1 << 16):
            raise ValueError(
                f"address: {self.address!r} is none: write local, auto or HOST:PORT, "
                "for example 10.0.0.5:6379"
            )
        host = (self.store or "").partition("://")[2].split("/")[0]
        if ":" in host.rpartition("@")[0]:
            raise ValueError("store: no file holds a secret: give its keys in the environment")


@dataclass(frozen=True)
class Execution:
    """What does the work."""

    ray: OnRay
