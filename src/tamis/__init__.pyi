# The public names, one line each; __init__.py loads them on first use.
from tamis.learn._infinite_svm import InfiniteSVM as InfiniteSVM
from tamis.learn._ofw_classifier import OFWClassifier as OFWClassifier
from tamis.rank.backward._optimal_brain_damage import OptimalBrainDamage as OptimalBrainDamage
from tamis.rank.backward._perceptron_elimination import PerceptronElimination as PerceptronElimination
from tamis.rank.backward._rfe import RFE as RFE
from tamis.rank.backward._svm_bound_elimination import SVMBoundElimination as SVMBoundElimination
from tamis.rank.forward._forward_least_squares import ForwardLeastSquares as ForwardLeastSquares
from tamis.rank.forward._grafting import Grafting as Grafting
from tamis.rank.forward._gram_schmidt import GramSchmidt as GramSchmidt
from tamis.rank.forward._polynomial_selection import PolynomialSelection as PolynomialSelection
from tamis.rank.model._sensitivity_ranking import SensitivityRanking as SensitivityRanking
from tamis.rank.model._tree_selector import TreeSelector as TreeSelector
from tamis.rank.neural._agnos_g import AgnosG as AgnosG
from tamis.rank.neural._agnos_s import AgnosS as AgnosS
from tamis.rank.neural._agnos_w import AgnosW as AgnosW
from tamis.rank.neural._deep_feature_selection import DeepFeatureSelection as DeepFeatureSelection
from tamis.rank.neural._drop_one_out import DropOneOut as DropOneOut
from tamis.rank.neural._fqi import FQI as FQI
from tamis.rank.neural._nnfs import NNFS as NNFS
from tamis.rank.neural._signal_to_noise import SignalToNoise as SignalToNoise
from tamis.rank.relief._relief_f import ReliefF as ReliefF
from tamis.rank.spectral._cgssl import CGSSL as CGSSL
from tamis.rank.spectral._laplacian_score import LaplacianScore as LaplacianScore
from tamis.rank.spectral._mcfs import MCFS as MCFS
from tamis.rank.spectral._ndfs import NDFS as NDFS
from tamis.rank.spectral._rsfs import RSFS as RSFS
from tamis.rank.spectral._rufs import RUFS as RUFS
from tamis.rank.spectral._sogfs import SOGFS as SOGFS
from tamis.rank.spectral._spec import SPEC as SPEC
from tamis.rank.stochastic._ofw import OFW as OFW
from tamis.rank.subset._feature_medoids import FeatureMedoids as FeatureMedoids
from tamis.rank.subset._greedy_reconstruction import GreedyReconstruction as GreedyReconstruction
from tamis.rank.subset._neighbor_faithful import NeighborFaithful as NeighborFaithful
from tamis.rank.subset._pca_leverage import PCALeverage as PCALeverage
from tamis.rank.subset._pivoted_qr import PivotedQR as PivotedQR
from tamis.rank.univariate._correlation_score import CorrelationScore as CorrelationScore
from tamis.rank.univariate._fisher_score import FisherScore as FisherScore
from tamis.rank.univariate._max_variance import MaxVariance as MaxVariance
from tamis.rank.univariate._random_selection import RandomSelection as RandomSelection

__version__: str
__all__: list[str]
