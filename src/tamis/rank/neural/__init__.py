"""Methods that train a network: torch, which the extra ``neural`` brings, is loaded when one is fitted."""

from tamis.rank.neural._select_hidden_units import HiddenUnits, HiddenUnitsRound, select_hidden_units

__all__ = ["HiddenUnits", "HiddenUnitsRound", "select_hidden_units"]
