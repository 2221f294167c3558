"""The private names of scikit-learn that tamis uses, and the only module that knows them.

They may move or change with any release of scikit-learn: what breaks then is mended here and nowhere else.
"""

from sklearn.base import _fit_context as fit_context
from sklearn.externals.array_api_compat import array_namespace, device, is_array_api_obj, is_torch_array
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._array_api import _is_numpy_namespace as is_numpy_namespace
from sklearn.utils._array_api import _max_precision_float_dtype as max_precision_float_dtype
from sklearn.utils._array_api import check_same_namespace, get_namespace, get_namespace_and_device, move_to
from sklearn.utils._missing import is_pandas_na
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as openmp_effective_n_threads
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    RealNotInt,
    StrOptions,
    validate_params,
)
from sklearn.utils._set_output import _get_output_config as get_output_config
from sklearn.utils.parallel import _get_threadpool_controller as get_threadpool_controller
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_n_features as check_n_features
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _check_y as check_y
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "RealNotInt",
    "StrOptions",
    "array_namespace",
    "check_feature_names_in",
    "check_n_features",
    "check_same_namespace",
    "check_sample_weight",
    "check_y",
    "device",
    "fit_context",
    "get_namespace",
    "get_namespace_and_device",
    "get_output_config",
    "get_threadpool_controller",
    "is_array_api_obj",
    "is_numpy_namespace",
    "is_pandas_na",
    "is_torch_array",
    "max_precision_float_dtype",
    "move_to",
    "num_samples",
    "openmp_effective_n_threads",
    "safe_indexing",
    "validate_params",
]
