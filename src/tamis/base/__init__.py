"""The contract: a ranker orders candidates, a stopping rule cuts the order, and any pair that fits works together."""

from tamis.base._backward import STEP_CONSTRAINT, BackwardRanker, Elimination, StepSize, ascending, n_to_eliminate
from tamis.base._candidates import (
    COLUMNS,
    PERMUTED_COPIES,
    ROWS,
    UNGROUPED,
    Candidates,
    ColumnCandidates,
    DictionaryCandidates,
    GroupCandidates,
)
from tamis.base._groups import GROUPS_CONSTRAINT, read_groups
from tamis.base._linear_model import LinearModel, check_model_columns, predictions
from tamis.base._model_weights import fit_weighted, score_weighted, weight_parameters
from tamis.base._nothing_kept import NothingKeptWarning
from tamis.base._parallel import SentOnce, Shared, array_bytes, open_parallel, scattered
from tamis.base._progress import finish, heartbeat, interrupt, interruption, note_interruption, run_in_background, track
from tamis.base._ranker import CAPABILITIES, Ranker, arranged, fresh
from tamis.base._ranking import Ranking, Step, StopDecision
from tamis.base._rules import StoppingRule, rankings_at, rule_class, rule_names
from tamis.base._sequential import SequentialRanker
from tamis.base._target_values import check_classes_recur
from tamis.base._tree_models import check_read_by_trees, may_rescale_trees
from tamis.base._validation import split_rows
from tamis.base._weighted import WeightedRanker
from tamis.base._written_whole import remove_abandoned_parts, what_prevents_writing, written_whole

__all__ = [
    "CAPABILITIES",
    "COLUMNS",
    "GROUPS_CONSTRAINT",
    "PERMUTED_COPIES",
    "ROWS",
    "STEP_CONSTRAINT",
    "UNGROUPED",
    "BackwardRanker",
    "Candidates",
    "ColumnCandidates",
    "DictionaryCandidates",
    "Elimination",
    "GroupCandidates",
    "LinearModel",
    "NothingKeptWarning",
    "Ranker",
    "Ranking",
    "SentOnce",
    "SequentialRanker",
    "Shared",
    "Step",
    "StepSize",
    "StopDecision",
    "StoppingRule",
    "WeightedRanker",
    "arranged",
    "array_bytes",
    "ascending",
    "check_classes_recur",
    "check_model_columns",
    "check_read_by_trees",
    "finish",
    "fit_weighted",
    "fresh",
    "heartbeat",
    "interrupt",
    "interruption",
    "may_rescale_trees",
    "n_to_eliminate",
    "note_interruption",
    "open_parallel",
    "predictions",
    "rankings_at",
    "read_groups",
    "remove_abandoned_parts",
    "rule_class",
    "rule_names",
    "run_in_background",
    "scattered",
    "score_weighted",
    "split_rows",
    "track",
    "weight_parameters",
    "what_prevents_writing",
    "written_whole",
]
