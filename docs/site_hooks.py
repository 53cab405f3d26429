"""Hooks of the documentation site: files outside `docs/` that its pages link to are part of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from harness.report import page

ROOT = Path(__file__).parent.parent
LINKED = ["CONTRIBUTING.md", "CHANGELOG.md", "config.yaml", "configs/*.*", "configs/published/*"]


def on_files(files: Files, config: Any) -> Files:
    """Add the linked files as they are; the site shows them as text."""
    for pattern in LINKED:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, f"files/{name}.txt", abs_src_path=str(path)))
    files.append(File.generated(config, "calculators.js", content=page.calculators()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links that leave `docs/` to the files that were added."""
    for pattern in LINKED:
        for path in ROOT.glob(pattern):
            name = path.relative_to(ROOT).as_posix()
            markdown = markdown.replace(f"](../{name})", f"](files/{name}.txt)")
    return markdown
