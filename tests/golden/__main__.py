"""Write the golden report anew."""

import tempfile
from pathlib import Path

from tests.golden import GOLDEN, rendered

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        GOLDEN.write_text(rendered(Path(folder)), encoding="utf-8")
    print(GOLDEN)  # noqa: T201
