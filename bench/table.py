"""Plain tables and notes for the terminal, and a line per target."""

from collections.abc import Sequence
from typing import Any

SHOWN: list[dict[str, Any]] = []  # every table and note of this process, in order, for `bench.figures`


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table with aligned columns."""
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    SHOWN.append({"title": title, "head": cells[0], "rows": cells[1:]})
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    print(f"\n{title}")
    for number, row in enumerate(cells):
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))


def note(text: str) -> None:
    """Print what must be known to read the tables."""
    SHOWN.append({"note": text.strip()})
    print(f"\n{text.strip()}")


class Targets:
    """Collects what had to be reached and whether it was."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, str, bool]] = []

    def add(self, what: str, reached: str, asked: str, ok: bool) -> None:
        self.lines.append((what, reached, asked, ok))

    def show(self) -> bool:
        """Print the list; True if every target was reached."""
        rows = [(what, reached, asked, "yes" if ok else "NO") for what, reached, asked, ok in self.lines]
        show("Targets", ("what", "reached", "asked", "ok"), rows)
        return all(ok for *_, ok in self.lines)
