"""Select the columns of a table as it is: numbers, text, dates, missing values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import HasMethods, InvalidParameterError, StrOptions, fit_context
from tamis.base import GROUPS_CONSTRAINT, Ranker, StopDecision
from tamis.base._row_blocks import check_takes_blocks, take_dask_columns, take_file_columns
from tamis.base._summary import as_frame, columns_as_html
from tamis.base._validation import check_one_target, check_weights, frame_library
from tamis.engine import FileTable, is_dask
from tamis.rank.forward._gram_schmidt import GramSchmidt
from tamis.table._by_source import (
    best_of_each,
    causes,
    find_columns,
    first_of_each,
    group_labels,
    names_by_source,
    refuse_missing,
    wishes_of,
)
from tamis.table._check_table import find
from tamis.table._encode import encode
from tamis.table._encode_files import encode_dask, encode_files
from tamis.table._encoded import Encoded
from tamis.table._findings import Findings
from tamis.table._outside_encoder import encode_by
from tamis.table._source import Source, read_source
from tamis.table._source_columns import ReadsTables, take_columns
from tamis.table._summary import summary_by_source
from tamis.table._target import read_target


class TableSelector(ReadsTables):
    r"""Select the columns of a table of mixed types with any ranker.

    Source column :math:`j` of the table, whatever it holds, is encoded as numbers :math:`Z_j` of one or more columns;
    the ranker sees :math:`Z = [Z_1, \dots, Z_p]` with the columns of each :math:`Z_j` as a group, and what it finds is
    told of the source columns. ``transform`` hands these out as they came in, for any model that encodes them itself.

    Parameters
    ----------
    ranker : Ranker, default=None
        None is :class:`tamis.GramSchmidt`. Its ``keep`` and ``exclude`` name source columns.
    encoder : "auto" or transformer, default="auto"
        "auto": see Notes. A transformer must name its columns (``get_feature_names_out``) such that their source
        column can be told: by its attribute ``input_to_outputs_``, or because their names begin with it, as those of
        skrub's ``TableVectorizer`` do. Missing values that it leaves are treated as ``missing`` says.
    missing : {"auto", "impute", "pass", "error"}, default="auto"
        Missing numbers and dates: "pass" leaves them to the ranker, "impute" puts the median there and an indicator in
        a column of its own, "auto" passes them where the ranker takes them, "error" refuses them. Missing text is a
        level of its own.
    groups : array-like of shape (n_features,) or mapping, default=None
        Source columns that stay or go together: a label for each, or label -> columns.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Source columns that are kept.
    order_ : ndarray
        Places of the source columns, best first.
    ranking_ : ndarray of shape (n_features,)
        Rank of each, 1 the best; those that are not ranked share the last.
    scores_ : ndarray of shape (n_features,)
        Score of the group of each source column; the best among its columns where the ranker knows no groups.
    stop_ : StopDecision
        How many source columns are kept, and why.
    n_features_ : int
        How many these are.
    task_ : {"classification", "regression", "unsupervised"}
        What the target was taken for.
    ranker_ : Ranker
        Fitted on the encoded table.
    encoding_ : dict
        For each source column, what was done to it, in words.
    encoded_as_ : dict
        For each source column, the names of its encoded columns; none for those that are not ranked.
    not_ranked_ : dict
        Source columns that were not ranked, with the cause.
    findings_ : Findings
        What :func:`tamis.table.check_table` finds in the table.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    ``encoder="auto"``: numbers stay, booleans are 0 and 1; text of at most 30 levels is one-hot encoded, levels in less
    than 1 % of the rows (and less than 5) as one; more levels are each given the mean target of the rows of that level
    which come before, in a random order of the rows (ordered target statistics). Cross-fitting by folds would not do:
    each pair of rows enters twice there and noise of 200 levels is kept at 11 to 15 % where 2.5 % are nominal; in order
    it is 3 %. Without a target many levels are numbered by how frequent they are. Dates become days, and sine and
    cosine of month, weekday and hour where these vary. A text in every row that no other row has (an identifier), one
    value in all rows, and values that are neither numbers, text nor dates are not ranked; ``not_ranked_`` names them.

    Eliminations and rankers that know no groups train one model of all columns: they are given as few columns as
    possible (levels by the mean target), heavy tails compressed, and a source column is kept if any of its columns is.
    A ranker with a parameter ``discrete`` gets levels as codes and is told so.

    Cost: beyond the ranker's, a few passes over the numbers and one look-up per row of every other column. Rows of
    weight zero do not count in any encoding; other weights do not enter it.

    References
    ----------
    Prokhorenkova, Gusev, Vorobev, Dorogush and Gulin, "CatBoost: unbiased boosting with categorical features",
    NeurIPS 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import TableSelector
    >>> rng = np.random.default_rng(0)
    >>> city = rng.choice(["Lyon", "Nice", "Paris"], size=200)
    >>> X = {"city": city, "noise": rng.normal(size=200), "size": rng.normal(size=200)}
    >>> y = 2.0 * (city == "Nice") + X["size"] + rng.normal(size=200)
    >>> selector = TableSelector().fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['city', 'size']
    >>> selector.encoding_["city"]
    '3 levels one-hot'
    """

    _parameter_constraints: ClassVar[dict] = {
        "ranker": [Ranker, None],
        "encoder": [StrOptions({"auto"}), HasMethods(["fit_transform", "get_feature_names_out"])],
        "missing": [StrOptions({"auto", "impute", "pass", "error"})],
        "groups": GROUPS_CONSTRAINT,
    }

    def __init__(
        self, ranker: Ranker | None = None, *, encoder: Any = "auto", missing: str = "auto", groups: Any = None
    ) -> None:
        self.ranker = ranker
        self.encoder = encoder
        self.missing = missing
        self.groups = groups

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, row_groups: Any = None) -> TableSelector:
        """Encode the columns of ``X``, rank them and decide how many to keep.

        Parameters
        ----------
        X : data frame, mapping from names to arrays, array, or FileTable, of shape (n_samples, n_features)
            Files of a :class:`tamis.engine.FileTable`, and dask collections of numbers, are read in blocks of rows, for
            rankers that take blocks.
        y : array-like of shape (n_samples,), default=None
            Numbers or labels; not needed by unsupervised rankers.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts, for rankers that take weights.
        row_groups : array-like of shape (n_samples,), default=None
            Which rows belong together, for rules that split rows.

        Returns
        -------
        self
        """
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)  # a fit that fails must not leave what an earlier one found
        ranker = self._fresh_ranker(sample_weight)
        if isinstance(X, FileTable) or is_dask(X):
            return self._fit_in_blocks(ranker, X, y, sample_weight, row_groups)
        X = self._read_input(X, reset=True)
        source = read_source(X)
        if source.n_rows < 2:
            raise ValueError(f"Found array with {source.n_rows} sample(s) while a minimum of 2 is required: add rows")
        y = read_target(y, source.n_rows)
        if y is None and ranker.supervised:
            raise ValueError("This TableSelector estimator requires y to be passed, but the target y is None")
        if ranker.supervised and not ranker._takes_several_targets():
            check_one_target(ranker, y)
        weight = check_weights(sample_weight, source.numbers)
        self._remember_kinds(source)
        encoded = self._encode(X, source, y, ranker, None if weight is None else np.flatnonzero(weight))
        self._frame_library = frame_library(X)
        return self._fit_encoded(ranker, source, encoded, y, sample_weight, row_groups)

    def _fit_in_blocks(self, ranker: Ranker, X: Any, y: Any, sample_weight: Any, row_groups: Any) -> TableSelector:
        """Rank columns of files, encoded block by block, or of a dask collection: memory never holds all rows."""
        check_takes_blocks(ranker)
        if not isinstance(self.encoder, str) or self.missing == "pass":
            what = "missing='pass'" if self.missing == "pass" else f"encoder={self.encoder!r}"
            raise ValueError(f"{what} needs all rows in memory, and X is read in blocks: leave it out")
        source, encoded = encode_dask(X) if is_dask(X) else encode_files(X, refuse_missing=self.missing == "error")
        self.n_features_in_ = len(source.names)
        self._kinds = {}  # of files, whose columns have a type that holds for all rows
        if isinstance(X, FileTable) or encoded.table.column_names is not None:
            self.feature_names_in_ = np.array(source.names, dtype=object)
        self._frame_library = None
        y = read_target(y.compute() if is_dask(y) else y, source.n_rows)
        return self._fit_encoded(ranker, source, encoded, y, sample_weight, row_groups)

    def _fit_encoded(
        self, ranker: Ranker, source: Source, encoded: Encoded, y: Any, sample_weight: Any, row_groups: Any
    ) -> TableSelector:
        """Rank the encoded columns, and tell of the source columns."""
        if not encoded.names:
            raise ValueError(f"no column of X can be ranked: {causes(encoded.not_ranked, source)}")
        forced = find_columns(source, "keep", ranker.keep)
        self._set_ranker_params(ranker, encoded, source)
        given = {"sample_weight": sample_weight, "row_groups": row_groups}
        ranker.name_features(encoded.names)
        self.ranker_ = ranker.fit(encoded.table, y, **{name: v for name, v in given.items() if v is not None})
        self._store(encoded, source, forced)
        self.findings_ = self._find(source, y)
        self._places = encoded.places
        return self

    def _validate_params(self) -> None:
        if not isinstance(self.ranker, Ranker | None):
            got = f"the class {self.ranker.__name__}" if isinstance(self.ranker, type) else repr(self.ranker)
            raise InvalidParameterError(
                f"The 'ranker' parameter of TableSelector must be a ranker of tamis, such as RFE(), or None; got {got}"
            )
        super()._validate_params()

    def _find(self, source: Source, y: np.ndarray | None) -> Findings:
        """What is odd about the table, and about the target as the ranker took it."""
        is_single = y is not None and y.size == source.n_rows
        guessed = self.task_ != "unsupervised" and self.ranker_.get_params(deep=False).get("task") == "auto"
        return find(source, y.ravel() if y is not None and is_single else None, "auto" if guessed else self.task_)

    def _fresh_ranker(self, sample_weight: Any) -> Ranker:
        ranker = clone(self._ranker())
        name = type(ranker).__name__
        if sample_weight is not None and "sample_weight" not in ranker.provides:
            raise ValueError(f"{name} takes no weights of the rows; choose a ranker that does, such as GramSchmidt()")
        if self.groups is not None and "groups" not in ranker.provides:
            raise ValueError(f"{name} ranks no groups of columns; drop groups= or choose another ranker")
        if "groups" in ranker.provides and ranker.get_params(deep=False).get("groups") is not None:
            raise ValueError(f"give groups= to TableSelector, not to {name}: they are of source columns")
        if not ranker.ranks_columns():
            raise ValueError(
                f"{name} ranks features of a dictionary, not columns: TableSelector cannot tell their source"
            )
        if self.missing == "pass" and not get_tags(ranker).input_tags.allow_nan:
            raise ValueError(f"{name} takes no missing values: use missing='impute' instead of 'pass'")
        return ranker.hold_in(type(self).__name__, "column" if self.groups is None else "group")

    def _ranker(self) -> Ranker:
        return GramSchmidt() if self.ranker is None else self.ranker

    def _encode(self, X: Any, source: Source, y: np.ndarray | None, ranker: Ranker, rows: np.ndarray | None) -> Encoded:
        """The table that the ranker sees; rows of weight zero are zero there and count nowhere."""
        if self.missing == "error":
            refuse_missing(source)
        takes_missing = self.missing in ("auto", "pass") and get_tags(ranker).input_tags.allow_nan
        if not isinstance(self.encoder, str):
            return encode_by(self.encoder, X, source, y, wishes_of(ranker, y, takes_missing))
        if rows is None or rows.size == source.n_rows:
            return encode(source, wishes_of(ranker, y, takes_missing))
        part = encode(source.take_rows(rows), wishes_of(ranker, None if y is None else y[rows], takes_missing))
        table = np.zeros((source.n_rows, part.table.shape[1]), dtype=part.table.dtype)
        table[rows] = part.table
        return replace(part, table=table)

    def _set_ranker_params(self, ranker: Ranker, encoded: Encoded, source: Source) -> None:
        """Tell the ranker which columns belong together, are discrete, stay or are not to be ranked."""
        parameters = ranker.get_params(deep=False)
        plain = encoded.places.size == np.unique(encoded.places).size
        labels = group_labels(self.groups, source)
        if "groups" in ranker.provides and (self.groups is not None or not plain):
            ranker.set_params(groups=[labels[j] for j in encoded.places.tolist()])
        if "discrete" in parameters and parameters["discrete"] is None and encoded.is_discrete.any():
            ranker.set_params(discrete=np.flatnonzero(encoded.is_discrete))
        for name in ("keep", "exclude"):
            if parameters.get(name) is not None:
                wanted = find_columns(source, name, parameters[name]).tolist()
                columns = [k for j in wanted for k in np.flatnonzero(encoded.places == j).tolist()]
                ranker.set_params(**{name: columns or None})

    def _store(self, encoded: Encoded, source: Source, forced: np.ndarray) -> None:
        """What was found of the encoded columns, told of the source columns."""
        ranker, n_columns = self.ranker_, source.n_columns
        only_forced = np.array([j for j in forced.tolist() if j in encoded.not_ranked], dtype=int)
        self.order_ = first_of_each(np.concatenate([only_forced, encoded.places[ranker.order_]]))
        self.support_ = np.zeros(n_columns, dtype=bool)
        self.support_[encoded.places[ranker.support_]] = True
        self.support_[only_forced] = True
        self.scores_ = best_of_each(ranker.scores_, encoded.places, n_columns)
        self.ranking_ = np.full(n_columns, self.order_.size + 1)
        self.ranking_[self.order_] = np.arange(1, self.order_.size + 1)
        self.n_features_ = int(self.support_.sum())
        self.task_ = ranker.task_
        self.stop_ = self._decision(ranker.stop_)
        told = encoded.sentences | {j: f"not ranked: {cause}" for j, cause in encoded.not_ranked.items()}
        self.encoding_ = {name: told[j] for j, name in enumerate(source.names)}
        self.not_ranked_ = {source.names[j]: cause for j, cause in sorted(encoded.not_ranked.items())}
        self.encoded_as_ = names_by_source(encoded, source)

    def _decision(self, decision: StopDecision) -> StopDecision:
        """The decision of the ranker, counted in source columns."""
        counted = f" ({decision.n_features} column{'s' * (decision.n_features != 1)} of {decision.n_groups} group"
        before, found, after = decision.reason.partition(counted)
        reason = before + after.partition(")")[2] if found else decision.reason
        n_groups = None if self.groups is None else decision.n_groups
        return replace(decision, n_features=self.n_features_, n_groups=n_groups, reason=reason, ranking=None)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def transform(self, X: Any) -> Any:
        """Keep the selected columns of ``X``, as they are.

        Parameters
        ----------
        X : data frame, mapping or array of shape (n_samples, n_features)
            Like the one given to ``fit``: kept columns that held numbers or dates there hold such, or nothing. Text may
            be any.

        Returns
        -------
        of the type of X, of shape (n_samples, n_selected)
        """
        check_is_fitted(self)
        if isinstance(X, FileTable):
            return take_file_columns(self, X, self.support_)
        if is_dask(X):
            return take_dask_columns(self, X, self.support_)
        X = self._read_input(X, reset=False)
        self._check_kinds(X, np.flatnonzero(self.support_))
        if isinstance(X, Mapping) or nw.dependencies.is_into_dataframe(X):
            return take_columns(X, np.flatnonzero(self.support_))
        return self._transform(X)

    def feature_name(self, j: int) -> str:
        """What people call source column ``j``, after ``fit``."""
        check_is_fitted(self)
        return list(self.encoding_)[j]

    def summary(self) -> Any:
        """A data frame, one row per source column, the best first.

        Returns
        -------
        data frame of the library that ``fit`` was given, else of pandas or polars, else a dict of lists
            Columns ``feature``, ``rank``, ``score``, ``kept``, ``why_not``, ``risk``, ``redundant_with`` (as those of
            a ranker), ``encoded_as`` (names of the encoded columns) and ``encoding`` (what was done, in words).
        """
        check_is_fitted(self)
        return as_frame(summary_by_source(self, self._places), self._frame_library)

    def _html_repr(self) -> str:
        """Parameters as scikit-learn shows them; below, after ``fit``, the kept columns and the reason."""
        shown = super()._html_repr()
        if not hasattr(self, "stop_"):
            return shown
        columns = summary_by_source(self, self._places)
        return shown + columns_as_html(type(self).__name__, columns, self.stop_.reason)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._ranker().supervised
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
