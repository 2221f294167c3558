"""What checks of a table find: a code, the column, a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# Every code, and what to do about it.
CODES = {
    "constant": "drop the column: it cannot tell rows apart",
    "rounded": "subtract an offset, such as the smallest value",
    "copy": "keep one of the two",
    "near-copy": "keep one of the two, or expect either to be kept by chance",
    "identifier": "drop the column, or split it into parts that rows share",
    "unreadable": "turn the column into numbers, text or dates",
    "leak": "make sure that the column is known before the target is",
    "outlying-target": "check these rows, clip or transform the target, or use a method based on ranks or trees",
    "heavy-tail": "take the logarithm or ranks, or use a method based on trees",
    "rare-class": "collect more rows of it, join it with another class, or drop its rows",
    "missing": "see TableSelector(missing=...)",
    "mostly-missing": "ask why; what is left may be another population",
    "telling-missingness": "ask why values are missing: the cause may not be there when the model is used",
    "text-number": "read the column as numbers",
    "text-date": "read the column as dates, or write each as 2023-06-03, which can be read in one way only",
    "count-target": "give the ranker task='regression' for a quantity, task='classification' for labels",
}


@dataclass(frozen=True)
class Finding:
    """One thing found in a table.

    Attributes
    ----------
    code : str
        Stable, one of those in the docs: "constant", "copy", "leak", ...
    column : str or None
        None where it is the target.
    sentence : str
    """

    code: str
    column: str | None
    sentence: str

    @property
    def advice(self) -> str:
        """What can be done about it."""
        return CODES[self.code]

    def __str__(self) -> str:
        return f"{self.code}: {'the target' if self.column is None else repr(self.column)} {self.sentence}"


class Findings(list[Finding]):
    """Findings in the order of the checks; prints one to a line.

    Attributes
    ----------
    notes : list of str
        What was not looked at, and why.
    """

    def __init__(self, findings: Iterable[Finding] = (), notes: Iterable[str] = ()) -> None:
        super().__init__(findings)
        self.notes = list(notes)

    def of(self, column: str | None) -> Findings:
        """Those of one column; None is the target."""
        return Findings([finding for finding in self if finding.column == column])

    def codes(self) -> list[str]:
        """The code of each."""
        return [finding.code for finding in self]

    def __str__(self) -> str:
        lines = [*map(str, self), *(f"note: {note}" for note in self.notes)]
        return "\n".join(lines) if lines else "nothing found"

    __repr__ = __str__
