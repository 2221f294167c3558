# The public names, one line each; __init__.py loads them on first use.
from tamis.rank.greedy._forward_least_squares import ForwardLeastSquares as ForwardLeastSquares
from tamis.rank.greedy._gram_schmidt import GramSchmidt as GramSchmidt
from tamis.rank.relief._relief_f import ReliefF as ReliefF
from tamis.rank.spectral._cgssl import CGSSL as CGSSL
from tamis.rank.spectral._laplacian_score import LaplacianScore as LaplacianScore
from tamis.rank.spectral._mcfs import MCFS as MCFS
from tamis.rank.spectral._ndfs import NDFS as NDFS
from tamis.rank.spectral._rsfs import RSFS as RSFS
from tamis.rank.spectral._rufs import RUFS as RUFS
from tamis.rank.spectral._sogfs import SOGFS as SOGFS
from tamis.rank.spectral._spec import SPEC as SPEC
from tamis.rank.subset._feature_medoids import FeatureMedoids as FeatureMedoids
from tamis.rank.subset._greedy_reconstruction import GreedyReconstruction as GreedyReconstruction
from tamis.rank.subset._pca_leverage import PCALeverage as PCALeverage
from tamis.rank.subset._pivoted_qr import PivotedQR as PivotedQR
from tamis.rank.univariate._correlation_score import CorrelationScore as CorrelationScore
from tamis.rank.univariate._fisher_score import FisherScore as FisherScore
from tamis.rank.univariate._max_variance import MaxVariance as MaxVariance
from tamis.rank.univariate._random_selection import RandomSelection as RandomSelection

__version__: str
__all__: list[str]
