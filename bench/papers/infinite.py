"""Flamary et al. (2011): textures (figure 1) and motor imagery (table 1)."""

from typing import Any

from bench.papers import infinite_eeg, infinite_textures
from bench.table import Targets


def run(*, quick: bool = False) -> dict[str, Any]:
    targets = Targets()
    textures = infinite_textures.run(targets, quick=quick)
    imagery = infinite_eeg.run(targets, quick=quick)
    return {"textures": textures, "motor imagery": imagery, "reached": targets.show()}
