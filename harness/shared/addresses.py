"""Addresses of shared stores: a folder, or a protocol of fsspec."""

from __future__ import annotations

from pathlib import Path

from harness.errors import HarnessError, MissingExtra, suggest
from harness.execution import holds_password
from harness.shared.folder import Folder
from harness.shared.objects import Objects
from harness.shared.places import Place

_USUAL = ("abfs", "az", "file", "gs", "hdfs", "memory", "s3", "sftp", "smb")
"""The protocols that a hint names; any other of fsspec's will do."""


class _MissingFilesystem(MissingExtra):
    """The library that knows a protocol is not installed."""

    def __init__(self, url: str, library: str) -> None:
        HarnessError.__init__(
            self,
            f"shared store {url!r} needs a library that is not installed: {library}\n"
            f"  pip install {library}",
        )


def place(url: str) -> Place:
    """Return what lies at an address; nothing is read or written there.

    Raises:
        HarnessError: there is no such kind of address, or a library for it is missing.
    """
    protocol, mark, rest = url.partition("://")
    if not url.strip() or not url.isprintable():
        raise HarnessError(
            f"shared store {url!r} is no address\n  name a folder, or for instance s3://BUCKET/NAME"
        )
    if not mark:
        return Folder(Path(url).absolute())
    if holds_password(url):
        raise HarnessError(
            f"the address of the shared store holds a password: {protocol}://…\n"
            "  leave it out, and give it as the library of the store says: by a file of its own, "
            "or by the environment"
        )
    if protocol in ("file", "local"):
        if not rest.startswith("/"):
            raise HarnessError(
                f"shared store {url!r} is no whole path\n  write it with three: file:///FOLDER"
            )
        return Folder(Path(rest))
    return _of_fsspec(url, protocol)


def _of_fsspec(url: str, protocol: str) -> Place:
    try:
        import fsspec
        from fsspec.registry import known_implementations
    except ImportError:
        raise MissingExtra(f"shared store {url!r}", "fsspec", "ray") from None
    try:
        if "::" in url:
            raise ValueError
        fsspec.get_filesystem_class(protocol)
    except ValueError:
        raise HarnessError(
            f"shared store {url!r}: unknown protocol {protocol!r}\n  {suggest(protocol, _USUAL)}"
        ) from None
    except ImportError:
        library = known_implementations[protocol]["class"].split(".")[0]
        raise _MissingFilesystem(url, library) from None
    try:
        files, root = fsspec.url_to_fs(url)
    except Exception as error:  # each library has errors of its own
        raise HarnessError(
            f"shared store {url!r} cannot be used: {type(error).__name__}: {error}\n"
            "  see that the address is right and that this machine may use it"
        ) from error
    return Objects(files, root, protocol, url)
