"""Scaling factors that are learned together with a model (Lal et al. 2006, Sec. 3)."""
