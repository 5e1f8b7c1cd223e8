"""Sparse Gaussian processes: gradients, the dense process as oracle, length scales that are known."""

import numpy as np

from reconstruct.models.physics.field.process import (
    build_process,
    compute_kernel,
    compute_negative_log_likelihood,
    learn_process,
    predict_outputs,
)

LENGTH = np.array([0.7, 2.0, 1.3])


def _data(n: int = 40, n_outputs: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    Y = rng.normal(size=(n, 3))
    return Y, np.stack([np.sin(2.0 * Y[:, 0]) + 0.3 * Y[:, 1], np.cos(Y[:, 1] * Y[:, 2])][:n_outputs], axis=1)


def test_gradient_of_the_likelihood_is_that_of_central_differences():
    Y, z = _data()
    at = np.append(np.log(LENGTH), np.log(0.05))
    _, gradient = compute_negative_log_likelihood(at, Y, z, Y[::4])
    for k in range(4):
        step = 1e-5 * np.eye(4)[k]
        ahead, behind = (compute_negative_log_likelihood(at + sign * step, Y, z, Y[::4])[0] for sign in (1.0, -1.0))
        assert abs(gradient[k] - (ahead - behind) / 2e-5) < 1e-5 * (1.0 + abs(gradient[k]))


def test_with_all_inputs_inducing_it_is_the_dense_process():
    Y, z = _data()
    noise = 0.05
    process = build_process(Y, z, Y, LENGTH, noise)
    new = Y[:7] + 0.2
    K = compute_kernel(Y, Y, LENGTH) + noise * np.eye(len(Y))
    k = compute_kernel(new, Y, LENGTH)
    mean, share = k @ np.linalg.solve(K, z), 1.0 + noise - (k * np.linalg.solve(K, k.T).T).sum(axis=1)
    variance = np.array([z[:, i] @ np.linalg.solve(K, z[:, i]) for i in range(2)]) / len(Y)
    got = predict_outputs(process, new)
    np.testing.assert_allclose(got.mean, mean, atol=1e-4)
    np.testing.assert_allclose(got.share, share, atol=1e-4)
    np.testing.assert_allclose(process.variance, variance, rtol=1e-4)


def test_dense_likelihood_is_that_of_the_normal_distribution():
    Y, z = _data(n_outputs=1)
    values = []
    for noise in (0.05, 0.2):
        K = compute_kernel(Y, Y, LENGTH) + noise * np.eye(len(Y))
        scale = z[:, 0] @ np.linalg.solve(K, z[:, 0]) / len(Y)
        dense = 0.5 * np.linalg.slogdet(scale * K)[1]
        values.append(compute_negative_log_likelihood(np.append(np.log(LENGTH), np.log(noise)), Y, z, Y)[0] - dense)
    assert abs(values[0] - values[1]) < 1e-3


def test_derivatives_of_predictions_are_those_of_central_differences():
    Y, z = _data()
    process = build_process(Y, z, Y[::3], LENGTH, 0.03)
    new = Y[:5] + 0.1
    got = predict_outputs(process, new)
    for d in range(3):
        step = 1e-6 * np.eye(3)[d]
        ahead, behind = predict_outputs(process, new + step), predict_outputs(process, new - step)
        np.testing.assert_allclose(got.mean_by[:, :, d], (ahead.mean - behind.mean) / 2e-6, atol=1e-7)
        np.testing.assert_allclose(got.share_by[:, d], (ahead.share - behind.share) / 2e-6, atol=1e-7)


def test_length_scales_that_made_the_data_are_found_again():
    rng = np.random.default_rng(5)
    Y = rng.uniform(-2.0, 2.0, size=(400, 3))
    length, noise = np.array([0.8, 2.5, 60.0]), 0.01
    z = np.linalg.cholesky(compute_kernel(Y, Y, length) + noise * np.eye(400)) @ rng.normal(size=(400, 4)) * (1.0, 3.0, 0.2, 1.0)
    learned = learn_process(Y, z, Y[::3], np.full(3, 1.5), 60, lambda _: None)
    np.testing.assert_allclose(learned.length[:2], length[:2], rtol=0.15)
    assert learned.length[2] > 15.0 and 0.005 < learned.noise < 0.02
    np.testing.assert_allclose(learned.variance / (1.0, 9.0, 0.04, 1.0), 1.0, rtol=0.6)
