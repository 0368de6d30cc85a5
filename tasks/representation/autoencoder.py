"""A small autoencoder whose encoder gives the latent space (Hu et al., 2026, eq. 5 and 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tasks.types import FloatArray, IntArray, Progress, no_progress

if TYPE_CHECKING:
    import torch

CHUNK = 65_536


def encode(
    features: FloatArray,
    *,
    latent_dimensions: int = 3,
    hidden: int = 32,
    epochs: int = 50,
    batch: int = 128,
    learning_rate: float = 1e-3,
    train_sample: int = 100_000,
    seed: int = 42,
    rows: IntArray | None = None,
    progress: Progress = no_progress,
) -> tuple[FloatArray, float]:
    """Train on `features` (n, d) and return the latent matrix (n, r) and the last epoch's mean loss.

    Fully connected, ReLU, symmetric: d - hidden - r - hidden - d, mean squared error, Adam. A record may
    stand for several `rows` (n,). Tables over `train_sample` rows train on a seeded sample of them; all
    records are encoded in chunks. CUDA is used where it is. One thread, so that the result does not depend
    on how many there are. O(epochs * n * d * hidden).
    """
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        torch.manual_seed(seed)
        width = features.shape[1]
        sizes = [(width, hidden), (hidden, latent_dimensions), (latent_dimensions, hidden), (hidden, width)]
        layers = [torch.nn.Linear(*size).to(device) for size in sizes]
        draw = np.random.default_rng(seed)
        sample = features[_sample(len(features), rows, train_sample, draw)]
        trained = torch.from_numpy(sample.astype(np.float32)).to(device)
        loss_of_epoch = 0.0
        with torch.no_grad():
            step = _step_of(layers, learning_rate)
            for epoch in range(epochs):
                order = torch.from_numpy(draw.permutation(len(sample))).to(device)
                shuffled = trained[order]
                losses = [step(shuffled[start : start + batch]) for start in range(0, len(sample), batch)]
                loss_of_epoch = float(torch.stack(losses).sum()) / len(sample)
                progress((epoch + 1) / epochs, f"epoch {epoch + 1} of {epochs}, loss {loss_of_epoch:.4f}")
        encoder = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1])
        latent = np.empty((len(features), latent_dimensions))
        # A product of matrices rounds by the place of a row; in doubles that is lost when they become floats.
        encoder.double()
        with torch.no_grad():
            for start in range(0, len(features), CHUNK):
                chunk = torch.from_numpy(features[start : start + CHUNK]).to(device)
                latent[start : start + CHUNK] = encoder(chunk).float().cpu().numpy()
    finally:
        torch.set_num_threads(threads)
    return latent, loss_of_epoch


def _sample(n_records: int, rows: IntArray | None, train_sample: int, draw: np.random.Generator) -> IntArray:
    """Return the record of each row to train on: all rows, or `train_sample` of them."""
    up_to = np.arange(1, n_records + 1) if rows is None else np.cumsum(rows)
    n_rows = int(up_to[-1])
    some = np.arange(n_rows)
    if n_rows > train_sample:
        some = np.sort(draw.choice(n_rows, train_sample, replace=False))
    return np.searchsorted(up_to, some, side="right")


def _step_of(
    layers: Sequence[torch.nn.Linear], learning_rate: float
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return what trains the four layers on a batch (m, d), and returns m times its loss before that.

    Small batches are mostly overhead. So the gradients are written out, in the operations that autograd would
    take, and `torch.optim.Adam` is left out: the weights are the same bit by bit, in a third of the time.
    """
    import torch

    weights = [parameter for layer in layers for parameter in (layer.weight, layer.bias)]
    w1, b1, w2, b2, w3, b3, w4, b4 = weights
    gradients, means, squares = ([torch.zeros_like(weight) for weight in weights] for _ in range(3))
    g1, h1, g2, h2, g3, h3, g4, h4 = gradients
    steps = [torch.zeros((), device=w1.device) for _ in weights]
    one = torch.ones((), device=w1.device)
    v1, v2, v3, v4 = w1.t(), w2.t(), w3.t(), w4.t()
    addmm, mm, relu, total = torch.addmm, torch.mm, torch.relu, torch.sum
    loss_of, loss_backward = torch.nn.functional.mse_loss, torch.ops.aten.mse_loss_backward.default
    relu_backward = torch.ops.aten.threshold_backward.default

    def step(rows: torch.Tensor) -> torch.Tensor:
        first = relu(addmm(b1, rows, v1))
        coded = addmm(b2, first, v2)
        second = relu(addmm(b3, coded, v3))
        decoded = addmm(b4, second, v4)
        slope = loss_backward(one, decoded, rows, 1)
        mm(slope.t(), second, out=g4)
        total(slope, 0, out=h4)
        slope = relu_backward(mm(slope, w4), second, 0)
        mm(slope.t(), coded, out=g3)
        total(slope, 0, out=h3)
        slope = mm(slope, w3)
        mm(slope.t(), first, out=g2)
        total(slope, 0, out=h2)
        slope = relu_backward(mm(slope, w2), first, 0)
        mm(slope.t(), rows, out=g1)
        total(slope, 0, out=h1)
        torch._foreach_add_(steps, 1)
        torch._fused_adam_(
            weights, gradients, means, squares, [], steps, lr=learning_rate, beta1=0.9, beta2=0.999,
            weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False,
        )  # fmt: skip
        return loss_of(decoded, rows) * len(rows)

    return step
