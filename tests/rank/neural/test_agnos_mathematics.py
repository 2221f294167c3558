"""The formulas behind AGNOS, each against loops, finite differences or its optimality condition."""

import numpy as np
import pytest

from tests.oracles import agnos as oracle

torch = pytest.importorskip("torch", reason="the extra neural brings torch")

from tamis.rank.neural import _agnos_losses as losses  # noqa: E402
from tamis.rank.neural import _denoising as denoising  # noqa: E402
from tamis.rank.neural._components import leading_components, weight_components  # noqa: E402
from tamis.rank.neural._encoder import AutoEncoder, Encoder  # noqa: E402
from tamis.rank.neural._relative_adam import RelativeAdam  # noqa: E402
from tamis.rank.neural._thesis import ThesisPlan, thesis_loss  # noqa: E402

N, D, UNITS = 12, 7, 3
VARIANTS = ["slack", "weights", "gradients"]


def table(seed=0, n=N, d=D):
    return torch.from_numpy(np.random.RandomState(seed).standard_normal((n, d)))


def network(score, seed=0):
    made = AutoEncoder(D, UNITS, score == "slack", torch.Generator().manual_seed(seed)).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(
                0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed + 1)).double()
            )
    return made


def numpy_of(*tensors):
    return [None if tensor is None else tensor.detach().numpy() for tensor in tensors]


@pytest.mark.parametrize("score", VARIANTS)
def test_the_losses_are_those_of_the_thesis(score):
    Z, made = table(), network(score)
    plan = ThesisPlan(score, UNITS, 0.7, 1e-3, 1)
    X, W, slack, bias, decoder, decoder_bias = numpy_of(
        Z, made.weights, made.slack, made.bias, made.decoder, made.decoder_bias
    )
    Phi = oracle.units(X, W, bias, slack)
    penalty = {
        "slack": lambda: np.abs(slack).sum(),
        "weights": lambda: sum(np.sqrt((w**2).sum()) for w in W) / UNITS,
        "gradients": lambda: oracle.gradient_penalty(Phi, W) / (UNITS * N),
    }[score]()
    expected = oracle.reconstruction(X, Phi, decoder, decoder_bias) + 0.7 * penalty
    assert float(thesis_loss(made, Z, plan, N).detach()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("score", VARIANTS)
def test_gradients_of_the_losses_agree_with_finite_differences(score):
    Z, made = table(), network(score)
    plan = ThesisPlan(score, UNITS, 0.7, 1e-3, 1)
    names, values = zip(*made.named_parameters(), strict=True)

    def loss(*parameters):
        return torch.func.functional_call(
            _Loss(made, plan), {f"network.{name}": value for name, value in zip(names, parameters, strict=True)}, (Z,)
        )

    assert torch.autograd.gradcheck(loss, tuple(value.detach().requires_grad_() for value in values), atol=1e-6)


class _Loss(torch.nn.Module):
    def __init__(self, network, plan):
        super().__init__()
        self.network, self.plan = network, plan

    def forward(self, Z):
        return thesis_loss(self.network, Z, self.plan, N)


def test_scores_are_those_of_the_thesis():
    Z, made = table(), network("gradients")
    Phi = made.encode(Z)
    W, units = numpy_of(made.weights, Phi)
    found = losses.score_gradients(made.weights, losses.squared_derivatives(Phi))
    np.testing.assert_allclose(found.detach(), oracle.gradient_scores(units, W), rtol=1e-12)
    np.testing.assert_allclose(losses.score_weights(made.weights).detach(), [max(abs(w)) for w in W])


def test_penalties_have_finite_gradients_where_all_is_zero_or_saturated():
    W = torch.zeros(4, 2, requires_grad=True)
    Phi = torch.ones(5, 2, requires_grad=True)  # tanh at its end: no slope
    (losses.weight_penalty(W) + losses.gradient_penalty(W, Phi)).backward()
    assert torch.isfinite(W.grad).all()
    assert torch.isfinite(Phi.grad).all()


@pytest.mark.parametrize("hidden", [(), (5,), (5, 4)])
def test_the_jacobian_of_the_encoder_holds_its_derivatives(hidden):
    generator = torch.Generator().manual_seed(0)
    encoder = Encoder(table(1, D, 4) * 0.5, True, hidden, generator).double()
    sums = (table() @ encoder.first_layer()).detach()

    def units_of(row):
        units = torch.tanh(row)
        for W in encoder.deeper:
            units = torch.tanh(units @ W)
        return units

    found = encoder(table()).jacobian.detach()
    for row, given in zip(sums, found, strict=True):
        jacobian = torch.autograd.functional.jacobian(units_of, row)
        torch.testing.assert_close(torch.diag(given) if given.ndim == 1 else given, jacobian)


@pytest.mark.parametrize("hidden", [(), (5,)])
def test_influence_is_the_mean_squared_gradient_of_the_reconstructions(hidden):
    encoder = Encoder(table(1, D, 4) * 0.5, False, hidden, torch.Generator().manual_seed(0)).double()
    Z = table().requires_grad_()
    encoding = encoder(Z)
    decoder = table(2, encoding.units.shape[1], 6)
    squared = torch.zeros(D, dtype=torch.float64)
    for output in (encoding.units @ decoder).T:
        [slope] = torch.autograd.grad(output.sum(), Z, retain_graph=True)
        squared += (slope**2).sum(dim=0) / N
    metric = denoising.influence_metric(encoding.jacobian, decoder)
    torch.testing.assert_close(denoising.influences(encoder.first_layer(), metric).detach() ** 2, squared)


@pytest.mark.parametrize("hidden", [(), (5,)])
def test_noise_on_the_inputs_spreads_as_its_first_order_says(hidden):
    encoder = Encoder(table(1, D, 4) * 0.5, False, hidden, torch.Generator().manual_seed(0)).double()
    Z, step = table(), 1e-3
    noise = torch.from_numpy(np.random.RandomState(3).standard_normal((4000, N, D))) * step
    with torch.no_grad():
        encoding = encoder(Z)
        moved = torch.stack([encoder(Z + each).units - encoding.units for each in noise]) / step
        V = encoder.first_layer()
        expected = torch.einsum("snd,sne->de", moved, moved) / (len(noise) * N)
        found = denoising.noise_covariance(encoding.jacobian, V.T @ V)
    torch.testing.assert_close(found, expected, rtol=0.1, atol=0.05 * float(expected.abs().max()))


def test_the_decoder_is_the_best_there_is():
    Phi, Y = table(4, 20, 3), table(5, 20, 6)
    noise = torch.diag(torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64))
    B, loss = denoising.solve_decoder(Phi, Y, noise)
    centered = Phi - Phi.mean(dim=0)
    ridge = denoising._RIDGE * float(torch.trace(centered.T @ centered / 20)) / 3
    expected_B, expected = oracle.lost_share(Phi.numpy(), Y.numpy(), noise.numpy(), ridge)
    np.testing.assert_allclose(B, expected_B, rtol=1e-9)
    assert float(loss) == pytest.approx(expected, rel=1e-9)


def test_the_loss_of_the_denoising_encoder_has_the_gradient_of_finite_differences():
    Z, Y = table(), table(6, N, 5)

    def loss(V):
        units = torch.tanh(Z @ V)
        noise = 0.3 * denoising.noise_covariance(1.0 - units**2, V.T @ V)
        ridge = denoising._RIDGE  # the ridge follows the units without being differentiated: hold it still here
        centered = units - units.mean(dim=0)
        S = centered.T @ centered / N + noise + ridge * torch.eye(3, dtype=V.dtype)
        C = centered.T @ Y / N
        return 1.0 - torch.sum(C * torch.linalg.solve(S, C)) / (torch.sum(Y**2) / N)

    assert torch.autograd.gradcheck(loss, (0.5 * table(7, D, 3)).requires_grad_(), atol=1e-6)


def test_soft_threshold_satisfies_its_optimality_condition():
    a, threshold = torch.linspace(0, 2, 21, dtype=torch.float64), 0.7
    found = denoising.soft_threshold(a, threshold)
    slope = found - a + threshold  # of (u - a)^2 / 2 + t u over u >= 0
    assert torch.all(found >= 0)
    torch.testing.assert_close(slope[found > 0], torch.zeros_like(slope[found > 0]))
    assert torch.all(slope[found == 0] >= 0)
    assert torch.count_nonzero(found) < a.numel()


def test_shrinking_rows_satisfies_its_optimality_condition_in_any_metric():
    root = table(8, 3, 3)
    V, metric, threshold = table(9, 30, 3), root @ root.T, 2.0
    lengths = denoising.influences(V, metric)
    found = denoising.shrink_rows(V, lengths, threshold)
    zero = lengths <= threshold
    assert 0 < zero.sum() < len(V)
    assert torch.all(found[zero] == 0)
    # of ||u - v||_M^2 / 2 + t ||u||_M: M (u - v) + t M u / ||u||_M = 0, and ||v||_M <= t where u = 0
    kept = found[~zero]
    slope = (kept - V[~zero]) @ metric + threshold * (kept @ metric) / denoising.influences(kept, metric)[:, None]
    torch.testing.assert_close(slope, torch.zeros_like(slope), atol=1e-12, rtol=0)


def test_keeping_the_largest_is_the_nearest_point_with_so_few_non_zeros():
    scores = torch.tensor([0.3, 2.0, 0.3, 1.0, 0.0])
    kept, gone = denoising.keep_largest(scores, 3)
    assert kept.tolist() == [0, 1, 3]  # of equals, the first stays
    assert gone.tolist() == [4, 2]


@pytest.mark.parametrize("hidden", [(), (5,)])
def test_a_slack_variable_of_zero_makes_the_encoder_blind_to_its_column(hidden):
    encoder = Encoder(table(1, D, 4), True, hidden, torch.Generator().manual_seed(0)).double()
    autoencoder = network("slack")
    with torch.no_grad():
        for made in (encoder, autoencoder):
            made.slack[2] = denoising.soft_threshold(made.slack[2], 5.0)
            assert made.slack[2] == 0
        Z = table()
        shuffled = Z.clone()
        shuffled[:, 2] = Z[torch.randperm(N, generator=torch.Generator().manual_seed(0)), 2]
        assert torch.equal(encoder(Z).units, encoder(shuffled).units)
        assert torch.equal(autoencoder.decode(autoencoder.encode(Z)), autoencoder.decode(autoencoder.encode(shuffled)))
        shuffled[:, 3] = Z[:, 3].flip(0)
        assert not torch.equal(encoder(Z).units, encoder(shuffled).units)


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
def test_leading_components_are_those_of_the_singular_value_decomposition(shape):
    Z = table(10, *shape)
    Z = Z - Z.mean(dim=0)
    k = min(shape)
    loadings, scores = leading_components(lambda: iter([Z[:5], Z[5:]]), shape[1], k, torch.Generator().manual_seed(0))
    s = torch.linalg.svdvals(Z)
    torch.testing.assert_close(torch.linalg.vector_norm(scores, dim=0), s, atol=1e-8, rtol=1e-6)
    torch.testing.assert_close(scores @ loadings.T, Z, atol=1e-8, rtol=1e-6)
    assert weight_components(scores, 1.25).square().sum() == pytest.approx(shape[0])


def test_the_gradient_of_one_layer_is_that_of_running_its_loss_backwards():
    X, Y = table(n=30), table(1, n=30, d=4)
    encoder = Encoder(0.5 * table(2, D, UNITS), False, [], torch.Generator())
    encoding = encoder(X)
    V = encoder.first_layer()
    noise = 0.3 * denoising.noise_covariance(encoding.jacobian, V.T @ V)
    decoder, loss = denoising.solve_decoder(encoding.units, Y, noise)
    [expected] = torch.autograd.grad(loss, [encoder.weights])
    found = denoising.decode_layer(X, encoder.weights.detach(), Y, 0.3)
    for name, one, other in (
        ("gradient", found.gradient, expected),
        ("loss", found.loss, loss.detach()),
        ("decoder", found.decoder, decoder.detach()),
        ("units", found.units, encoding.units.detach()),
        ("jacobian", found.jacobian, encoding.jacobian.detach()),
        ("spread", found.preactivation_std, encoding.preactivation_std),
    ):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-14, msg=name)


def test_relative_adam_is_adam_at_a_learning_rate_in_units_of_the_parameter():
    ours, theirs = table().clone(), table().clone().requires_grad_()
    relative, adam = RelativeAdam([ours]), torch.optim.Adam([theirs], foreach=False)
    for step in range(6):
        gradient = table(step)
        if step == 3:  # rows leave, and what was known of the others stays
            kept = torch.tensor([0, 2, 5])
            ours = ours[kept]
            relative.parameters = [ours]
            relative.keep_rows([0], kept)
            theirs.data = theirs.data[kept]
            theirs.grad = None
            for name in ("exp_avg", "exp_avg_sq"):
                adam.state[theirs][name] = adam.state[theirs][name][kept]
        gradient = gradient[: len(ours)]
        size = float(theirs.detach().square().mean().sqrt())
        [group] = adam.param_groups
        group["lr"], group["eps"] = 0.05 * size, 1e-5 / (size * theirs.numel() ** 0.5)
        theirs.grad = gradient
        adam.step()
        relative.step([gradient], 0.05)
        torch.testing.assert_close(ours, theirs.detach(), rtol=1e-12, atol=0.0)
