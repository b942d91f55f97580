"""Lines of Python by package, before and now, as the table of docs/architecture.md.

python benchmarks/lines.py a0912f4    # compare the working tree with a commit
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tarfile
import tokenize
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

SOURCE = "src/tagfill"
BESIDE = "modules beside the packages"
_NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
)
Sizes = dict[str, tuple[int, int]]


def code_lines(text: str) -> int:
    """Lines with code: without docstrings, comments, blank lines and imports."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.Import | ast.ImportFrom) or is_text:
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def by_package(files: Iterable[tuple[PurePosixPath, str]]) -> Sizes:
    """Lines and lines of code of each package, from paths below ``SOURCE`` and texts."""
    sizes: Sizes = defaultdict(lambda: (0, 0))
    for path, text in files:
        name = path.parts[0] if len(path.parts) > 1 else BESIDE
        name = "analyze" if name.startswith("analys") else name
        for package in (name, "all"):
            total, code = sizes[package]
            sizes[package] = (total + len(text.splitlines()), code + code_lines(text))
    return sizes


def of_commit(commit: str) -> Sizes:
    """The sizes at a commit."""
    command = ["git", "archive", commit, SOURCE]
    archive = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        members = [member for member in tar if member.isfile() and member.name.endswith(".py")]
        return by_package(
            (
                PurePosixPath(member.name).relative_to(SOURCE),
                tar.extractfile(member).read().decode(),  # type: ignore[union-attr]
            )
            for member in members
        )


def of_folder(folder: Path) -> Sizes:
    """The sizes of the working tree."""
    return by_package(
        (PurePosixPath(file.relative_to(folder).as_posix()), file.read_text(encoding="utf-8"))
        for file in folder.rglob("*.py")
    )


def main() -> None:
    """Print the table."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    before, now = of_commit(sys.argv[1]), of_folder(Path(SOURCE))
    print(f"| package | lines before ({sys.argv[1]}) | now | code before | now |")
    print("|---|---:|---:|---:|---:|")
    for name in [*sorted({*before, *now} - {"all"}), "all"]:
        pairs = zip(before.get(name, ("", "")), now.get(name, ("", "")), strict=True)
        columns = [f"{count:,}" if count != "" else "-" for pair in pairs for count in pair]
        print(f"| {name} | {' | '.join(columns)} |")


if __name__ == "__main__":
    main()
