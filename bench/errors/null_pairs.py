"""Rules with what they promise where nothing is related to the target, rankers, and which of them go together.

Every supervised method is here, and every rule: one or two methods of each family in full, with every rule that takes
them and as often as they are cheap; all others with the default rule at a risk, and with their own choice or the
effective number where they have one, on few tables, of which all designs together tell something. Settings are cheaper
than the defaults where these take long, such as networks of two hidden units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import tamis
from bench.errors.null_designs import NULL_DESIGNS, ONE_PER_LAW, PLAIN, NullDesign, Shape
from tamis.base import ColumnCandidates, Ranker, StoppingRule
from tamis.stop import (
    CrossValidation,
    EffectiveNumber,
    FisherTest,
    FITPlateau,
    IntrinsicDimension,
    LeaveOneOut,
    MonteCarloProbe,
    OwnChoice,
    Probe,
    TopK,
)

RISK, RATE = 0.05, 0.1
ALL = tuple(NULL_DESIGNS)
SMALL: Shape = (60, 20)
LARGE: tuple[Shape, ...] = ((100, 50), (60, 300))  # for pairs that need no ranking of copies
FEWEST = 4  # repetitions of a pair that a share of a ranker's would leave with less
FOR_INFORMATION = {False: 8, True: 100}  # repetitions of pairs that promise nothing, by whether they are cheap


@dataclass(frozen=True)
class Kind:
    """A ranker, and how many repetitions there is time for.

    Attributes
    ----------
    build : callable
        The ranker from a task and a rule.
    repetitions : int
        On each design, with the default rule at a risk.
    large : int
        The same on larger tables, with rules that need no ranking of copies.
    designs : tuple of str
        Of tables on which copies are ranked; of cheaper pairs all are run.
    is_full : bool
        Whether every rule is run that takes it, or those only that say ``is_default``.
    """

    build: Callable[[str, Any], Ranker]
    repetitions: int
    large: int = 0
    designs: tuple[str, ...] = ONE_PER_LAW
    is_full: bool = True

    def ranker(self, task: str = "classification") -> Ranker:
        return self.build(task, None)

    def designs_taken(self, asked: tuple[str, ...]) -> list[str]:
        """Those that hold a target that it takes; of all such where it takes classes only."""
        tasks = self.ranker().tasks
        among = ALL if len(tasks) == 1 and asked == ONE_PER_LAW else asked
        return [label for label in among if NULL_DESIGNS[label].task in tasks]


def by_name(name: str, **given: Any) -> Callable[[str, Any], Ranker]:
    return lambda task, rule: getattr(tamis, name)(stop=rule, **given)


def forest(task: str, rule: Any) -> Ranker:
    model = RandomForestClassifier if task == "classification" else RandomForestRegressor
    return tamis.ModelImportance(model(10, random_state=0), stop=rule)


KINDS = {
    "CorrelationScore": Kind(by_name("CorrelationScore"), 40, 400, ALL),
    "FisherScore": Kind(by_name("FisherScore"), 40, 400, ALL),
    "ReliefF": Kind(by_name("ReliefF"), 50, designs=ALL),
    "GramSchmidt": Kind(by_name("GramSchmidt"), 15, 250),
    "ForwardLeastSquares": Kind(by_name("ForwardLeastSquares"), 4, 60),
    "RFE, linear SVM": Kind(by_name("RFE", step=0.5), 60),
    "RFE, ridge": Kind(by_name("RFE", estimator="ridge", step=0.5), 30),
    "TreeSelector": Kind(by_name("TreeSelector"), 50),
    "TreeSelector, 10 trees": Kind(by_name("TreeSelector", n_trees=10, random_state=0), 20, is_full=False),
    "TreeSelector, mutual information": Kind(by_name("TreeSelector", importance="mutual_information"), 50),
    "ModelImportance, random forest": Kind(forest, 12),
    "Lasso": Kind(by_name("Lasso"), 25, designs=ALL),
    "LogisticLasso": Kind(by_name("LogisticLasso"), 10, is_full=False),
    "L1SVM": Kind(by_name("L1SVM"), 10, is_full=False),
    "ZeroNorm": Kind(by_name("ZeroNorm"), 50),
    "ARD": Kind(by_name("ARD"), 6, is_full=False),
    "MED": Kind(by_name("MED"), 6, is_full=False),
    "MarginLP": Kind(by_name("MarginLP"), 20),
    "FQI, 2 hidden units": Kind(by_name("FQI", hidden_units=(2,), random_state=0), 10),
}
OTHERS = {
    "AdaptiveScaling": Kind(by_name("AdaptiveScaling"), 20, is_full=False),
    "DeepFeatureSelection, 2 hidden units, 20 rounds": Kind(
        by_name("DeepFeatureSelection", hidden_units=(2,), max_iter=20, random_state=0), 10, is_full=False
    ),
    "DropOneOut, 2 hidden units": Kind(
        by_name("DropOneOut", step=0.5, hidden_units=(2,), random_state=0), 2, is_full=False
    ),
    "ElasticNet": Kind(by_name("ElasticNet"), 12, is_full=False),
    "FSV, C = 1": Kind(by_name("FSV", C=1.0), 15, is_full=False),
    "FloatingSelection": Kind(by_name("FloatingSelection", n_beyond=0), 2, is_full=False),
    "Grafting": Kind(by_name("Grafting"), 5, is_full=False),
    "GroupLasso": Kind(by_name("GroupLasso"), 12, is_full=False),
    "JCFO": Kind(by_name("JCFO"), 5, is_full=False),
    "NNFS, 2 hidden units": Kind(by_name("NNFS", step=0.5, hidden_units=(2,), random_state=0), 6, is_full=False),
    "OFW, 10 subsets": Kind(by_name("OFW", n_subsets=10, random_state=0), 2, is_full=False),
    "OptimalBrainDamage, 2 hidden units": Kind(
        by_name("OptimalBrainDamage", step=0.5, hidden_units=(2,), random_state=0), 8, is_full=False
    ),
    "PerceptronElimination": Kind(by_name("PerceptronElimination", step=0.5), 1, is_full=False),
    "PolynomialSelection": Kind(by_name("PolynomialSelection"), 15, is_full=False),
    "PotentialSVM": Kind(by_name("PotentialSVM"), 30, designs=ALL, is_full=False),
    "SVMBoundElimination": Kind(by_name("SVMBoundElimination"), 30, is_full=False),
    "ScalingFactors": Kind(by_name("ScalingFactors"), 8, is_full=False),
    "SensitivityRanking, 2 hidden units": Kind(
        by_name("SensitivityRanking", hidden_units=(2,), random_state=0), 10, is_full=False
    ),
    "SignalToNoise, 2 hidden units": Kind(
        by_name("SignalToNoise", hidden_units=(2,), n_draws=3, random_state=0), 8, is_full=False
    ),
    "SparseGroupLasso": Kind(by_name("SparseGroupLasso"), 12, is_full=False),
}
KINDS |= OTHERS


def always(ranker: Ranker, design: NullDesign) -> bool:
    return True


def of_gaussian_columns(ranker: Ranker, design: NullDesign) -> bool:
    """The analytic law of the probe holds where columns, or the target, are Gaussian; here the columns are."""
    return design.covariance is not None


def of_weights(ranker: Ranker, design: NullDesign) -> bool:
    """Nothing is promised of scores of single features beside copies by an estimated covariance."""
    return "single_scores" not in ranker.provides


def takes_any(ranker: Ranker) -> bool:
    return True


def weighs(ranker: Ranker) -> bool:
    """Whether knockoffs are the default."""
    return "conditional_weights" in ranker.provides


def ranks(ranker: Ranker) -> bool:
    """Whether permuted copies are the default."""
    return not weighs(ranker)


@dataclass(frozen=True)
class Rule:
    """A stopping rule, and what it promises where nothing is related to the target.

    Attributes
    ----------
    build : callable
        The rule from a seed and the covariance of the columns, which is None where they are not Gaussian.
    level : float or None
        The chance of keeping anything, at most; that is what a risk promises, and a rate too, as all that is kept is
        false. None where nothing is promised.
    is_promised : callable
        Whether that holds of a ranker on a design.
    is_meant_for : callable
        Of the rankers that it takes: the others have the same under another name.
    share : float
        Of the repetitions of the ranker.
    is_default : bool
        Whether it is run with rankers of which there is no time for more.
    needs_covariance : bool
    """

    build: Callable[[int, np.ndarray | None], StoppingRule]
    level: float | None = None
    is_promised: Callable[[Ranker, NullDesign], bool] = always
    is_meant_for: Callable[[Ranker], bool] = takes_any
    share: float = 1.0
    is_default: bool = False
    needs_covariance: bool = False


def analytic(risk: float = RISK, **given: Any) -> Callable[[int, Any], StoppingRule]:
    return lambda seed, covariance: Probe(risk, random_state=seed, **given)


def among_copies(**given: Any) -> Callable[[int, Any], StoppingRule]:
    return lambda seed, covariance: MonteCarloProbe(**({"risk": RISK} | given), random_state=seed)


def among_exact_knockoffs(seed: int, covariance: Any) -> StoppingRule:
    return MonteCarloProbe(RISK, probes="knockoff", covariance=covariance, random_state=seed)


def without_seed(rule: type[StoppingRule], **given: Any) -> Callable[[int, Any], StoppingRule]:
    return lambda seed, covariance: rule(**given)


RULES = {
    "Probe": Rule(analytic(), RISK),
    "Probe, Gaussian law": Rule(analytic(null="gaussian"), RISK, of_gaussian_columns),
    "Probe, permutation": Rule(analytic(null="permutation"), RISK),
    "Probe, published": Rule(analytic(correction="none", null="gaussian")),
    "MonteCarloProbe": Rule(among_copies(), RISK, is_default=True),
    "MonteCarloProbe, rate": Rule(among_copies(fdr=RATE), RATE, share=0.5),
    "MonteCarloProbe, permuted": Rule(among_copies(probes="permuted"), RISK, is_meant_for=weighs, share=0.4),
    "MonteCarloProbe, permuted, rate": Rule(
        among_copies(probes="permuted", fdr=RATE), RATE, is_meant_for=weighs, share=0.4
    ),
    "MonteCarloProbe, knockoffs": Rule(
        among_copies(probes="knockoff"), RISK, of_weights, is_meant_for=ranks, share=0.4
    ),
    "MonteCarloProbe, knockoffs, rate": Rule(
        among_copies(probes="knockoff", fdr=RATE), RATE, of_weights, is_meant_for=ranks, share=0.2
    ),
    "MonteCarloProbe, knockoffs, covariance given": Rule(among_exact_knockoffs, RISK, share=0.4, needs_covariance=True),
    "MonteCarloProbe, residuals": Rule(among_copies(probes="residual"), RISK, of_weights, share=0.4),
    "MonteCarloProbe, conditional": Rule(among_copies(conditional=True), RISK, share=0.4),
    "MonteCarloProbe, conditional, rate": Rule(among_copies(conditional=True, fdr=RATE), RATE, share=0.2),
    "FisherTest": Rule(without_seed(FisherTest)),
    "LeaveOneOut": Rule(without_seed(LeaveOneOut)),
    "CrossValidation": Rule(without_seed(CrossValidation)),
    "OwnChoice": Rule(without_seed(OwnChoice), is_default=True),
    "EffectiveNumber": Rule(without_seed(EffectiveNumber), is_default=True),
    "IntrinsicDimension": Rule(without_seed(IntrinsicDimension)),
    "FITPlateau": Rule(without_seed(FITPlateau)),
    "TopK, half": Rule(without_seed(TopK, n_features=0.5)),
}


@dataclass(frozen=True)
class Pair:
    """A rule with a ranker on tables of one shape."""

    rule: str
    kind: str
    shape: Shape
    designs: tuple[str, ...]
    repetitions: int

    def level(self, label: str) -> float | None:
        """What is promised on a design; None where nothing is."""
        rule, design = RULES[self.rule], NULL_DESIGNS[label]
        ranker = KINDS[self.kind].ranker(design.task)
        return rule.level if rule.is_promised(ranker, design) else None

    def n_kept(self, label: str, seed: tuple[int, int]) -> int:
        """How many columns of one table are kept."""
        design = NULL_DESIGNS[label]
        X, y = design(self.shape, seed)
        covariance = None if design.covariance is None else design.covariance(self.shape[1])
        stage, number = seed
        rule = RULES[self.rule].build(1_000_000 * stage + number, covariance)
        return int(KINDS[self.kind].build(design.task, rule).fit(X, y).n_features_)


def goes_with(rule: Rule, ranker: Ranker) -> bool:
    """Whether a ranker of columns of a table in memory provides what the rule requires."""
    return not rule.build(0, None).requires - ranker.provides - ColumnCandidates.provides


def pairs() -> Iterator[Pair]:
    """All that go together."""
    for rule_label, rule in RULES.items():
        for kind_label, kind in KINDS.items():
            ranker = kind.ranker()
            is_asked = rule.is_meant_for(ranker) and (kind.is_full or rule.is_default)
            if is_asked and goes_with(rule, ranker):
                yield from pairs_of(rule_label, kind_label)


def pairs_of(rule_label: str, kind_label: str) -> Iterator[Pair]:
    rule, kind = RULES[rule_label], KINDS[kind_label]
    cheap = is_cheap(rule, kind)
    labels = kind.designs_taken(PLAIN if rule.level is None else ALL if cheap else kind.designs)
    if rule.needs_covariance:
        labels = [label for label in labels if NULL_DESIGNS[label].covariance is not None]
    tells = rule.level is not None and any(rule.is_promised(kind.ranker(), NULL_DESIGNS[label]) for label in labels)
    for shape in LARGE if cheap else (SMALL,):
        most = kind.large if cheap else kind.repetitions
        n = max(round(rule.share * most), min(FEWEST, most)) if tells else FOR_INFORMATION[cheap]
        yield Pair(rule_label, kind_label, shape, tuple(labels), n)


def is_cheap(rule: Rule, kind: Kind) -> bool:
    """Whether nothing is ranked again: a rule along a path of least squares, or permuted copies of single scores."""
    built, ranker = rule.build(0, None), kind.ranker()
    if isinstance(built, MonteCarloProbe):
        return "single_scores" in ranker.provides and built.probes == "auto" and not built.conditional
    return isinstance(built, Probe | FisherTest | LeaveOneOut)
