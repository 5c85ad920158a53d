"""Learning the weights of a kernel: the maximum of the exact marginal likelihood."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skr_core.errors import extra
from skr_learn.learning.kernel import FEATURES, Kernel, squared_distances
from skr_learn.learning.rows import Floats
from skr_learn.learning.signals import Signals
from skr_learn.learning.threads import one_thread

SUBSAMPLE = 800
"""Records of which the likelihood is computed: each evaluation takes time n³."""
STEPS = 40
"""Evaluations at most; 10 to 20 are usual."""
TOLERANCE = 1e-5
"""Relative change of the likelihood at which the optimiser stops."""
WEIGHT_SPREAD = 2.0
"""Standard deviation of the prior over the logarithm of each weight: a factor of seven each way.
Its median gives all kernels together as much variance as the noise."""
RELEVANCE_SPREAD = 1.0
"""Standard deviation of the prior over the logarithm of each feature's relevance, whose median is
that all count the same: 20 records leave it there, a thousand do not."""

FARTHEST = 4.0
"""Prior standard deviations within which a parameter stays: without noise in the targets, a weight
would grow until the covariance is singular."""


def learn_kernel(signals: Signals, targets: Floats, *, seed: int = 0) -> Kernel:
    """The kernel whose weights make the targets most likely, with automatic relevance.

    The targets are modelled as Gaussian processes with the same kernel, each with a mean and a
    variance of its own, which are profiled out. So the weights are in units of the noise, and what
    is learnt are the weight of each part and the relevance of each feature (ARD). A weak prior
    over their logarithms keeps a few records from deciding anything.

    Args:
        signals: Of n records.
        targets: Shape (n, t).
        seed: Of the subsample, where there are more than `SUBSAMPLE` records.

    Example:
        >>> from skr_core.models.embedders import HashingEmbedder
        >>> from skr_learn.learning import Observed
        >>> texts = [f"Who is number {n}?" if n % 2 else f"When was {n}?" for n in range(40)]
        >>> signals = Signals.of(
        ...     [Observed(text) for text in texts], HashingEmbedder(), drafts=False
        ... )
        >>> learnt = learn_kernel(signals, np.arange(40)[:, None] % 2.0)
        >>> noise = learn_kernel(signals, np.random.default_rng(0).random((40, 1)))
        >>> bool(learnt.weights.sum() > 10 * noise.weights.sum())
        True
    """
    with extra("learning"):
        from scipy.optimize import minimize

    start = Kernel.fit(signals)
    chosen = np.random.default_rng(seed).permutation(len(signals))[:SUBSAMPLE]
    targets = targets[np.sort(chosen)]
    # A target that never varies, such as the cost of no retrieval, says nothing.
    targets = targets[:, targets.std(axis=0) > 0]
    if len(chosen) < 2 or not targets.shape[1]:
        return start
    likelihood = _Likelihood(start, signals[np.sort(chosen)], targets)
    with one_thread():
        found = minimize(
            likelihood,
            np.zeros(likelihood.size),
            jac=True,
            method="L-BFGS-B",
            bounds=[(-FARTHEST * each, FARTHEST * each) for each in likelihood.spread],
            options={"maxfun": STEPS, "ftol": TOLERANCE},
        )
    return likelihood.kernel(np.asarray(found.x, dtype=np.float64))


class _Likelihood:
    """Minus the logarithm of the posterior of the kernel's parameters, with its gradient.

    The parameters are the logarithms of the weights over their prior medians, followed by those of
    the features' relevance.
    """

    def __init__(self, start: Kernel, signals: Signals, targets: Floats) -> None:
        self._start = start
        self._targets = targets - targets.mean(axis=0)
        self._present = np.flatnonzero(start.weights)
        self._form = start.standardised(signals)
        parts = start.distances(signals, signals)
        self._parts = [
            np.exp(-distance)
            for part, distance in enumerate(parts)
            if distance is not None and part != FEATURES
        ]
        self.size = len(self._present) + len(start.columns)
        self.spread = np.full(self.size, RELEVANCE_SPREAD)
        self.spread[: len(self._present)] = WEIGHT_SPREAD

    def kernel(self, parameters: Floats) -> Kernel:
        """The kernel of these parameters."""
        j = len(self._present)
        weights = self._start.weights.copy()
        weights[self._present] *= np.exp(parameters[:j])
        return replace(self._start, weights=weights, relevance=np.exp(parameters[j:]))

    def __call__(self, parameters: Floats) -> tuple[float, Floats]:
        kernel = self.kernel(parameters)
        n, t = self._targets.shape
        p = max(1, len(kernel.columns))
        parts = iter(self._parts)
        matrices = [
            _gaussian(self._form * np.sqrt(kernel.relevance / p))
            if part == FEATURES
            else next(parts)
            for part in self._present
        ]
        weights = kernel.weights[self._present]
        covariance = np.eye(n)
        for weight, matrix in zip(weights, matrices, strict=True):
            covariance += weight * matrix
        inverse, log_determinant = inverse_and_log_determinant(covariance)
        solved = inverse @ self._targets
        explained = (self._targets * solved).sum(axis=0)  # n times each target's variance
        value = 0.5 * n * np.log(explained / n).sum() + 0.5 * t * log_determinant
        by_covariance = 0.5 * t * inverse - 0.5 * n * (solved / explained) @ solved.T
        gradient = np.zeros(self.size)
        for place, (part, weight, matrix) in enumerate(
            zip(self._present, weights, matrices, strict=True)
        ):
            by_entry = weight * by_covariance * matrix
            gradient[place] = by_entry.sum()
            if part == FEATURES:
                # d/dr of exp(-Σ r (z - z')² / p), summed over all pairs without forming them.
                pairs = (self._form**2 * by_entry.sum(axis=1)[:, None]).sum(axis=0)
                pairs -= (self._form * (by_entry @ self._form)).sum(axis=0)
                gradient[len(self._present) :] = -2 * kernel.relevance * pairs / p
        value += 0.5 * ((parameters / self.spread) ** 2).sum()
        return float(value), gradient + parameters / self.spread**2


def inverse_and_log_determinant(matrix: Floats) -> tuple[Floats, float]:
    """The inverse of a positive definite matrix, which is overwritten, and its log determinant.

    Example:
        >>> inverse, log_determinant = inverse_and_log_determinant(np.diag([2.0, 4.0]))
        >>> inverse.diagonal().round(6).tolist(), round(float(np.exp(log_determinant)), 6)
        ([0.5, 0.25], 8.0)
    """
    with extra("learning"):
        from scipy.linalg.lapack import dpotrf, dpotri

    # Half the work of solving for the identity; LAPACK fills the upper triangle alone. It reads
    # columns, which the transpose of a symmetric matrix has without being copied.
    upper, _ = dpotrf(matrix.T, lower=False, overwrite_a=True)
    log_determinant = 2 * float(np.log(upper.diagonal()).sum())
    inverse, _ = dpotri(upper, lower=False, overwrite_c=True)
    whole: Floats = inverse + inverse.T
    whole.flat[:: len(whole) + 1] /= 2  # the diagonal was added to itself
    return whole, log_determinant


def root_of_inverse(matrix: Floats) -> Floats:
    """The upper triangle that times its transpose is the inverse of a positive definite matrix.

    The matrix is overwritten. It takes half the time of the inverse, and has its diagonal, the
    blocks on it, and its product with a vector at hand.

    Example:
        >>> root = root_of_inverse(np.array([[2.0, 1.0], [1.0, 2.0]]))
        >>> (root @ root.T @ np.array([2.0, 1.0])).round(6).tolist()
        [1.0, 0.0]
    """
    with extra("learning"):
        from scipy.linalg.lapack import dpotrf, dtrtri

    upper, _ = dpotrf(matrix.T, lower=False, overwrite_a=True)
    root: Floats = dtrtri(upper, lower=False, overwrite_c=True)[0]
    return root


def _gaussian(form: Floats) -> Floats:
    kernel: Floats = np.exp(-squared_distances(form, form))
    return kernel
