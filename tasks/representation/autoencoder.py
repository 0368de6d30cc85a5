"""A small autoencoder whose encoder gives the latent space (Hu et al., 2026, eq. 5 and 6)."""

from __future__ import annotations

import numpy as np

from tasks.types import FloatArray, Progress, no_progress

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
    progress: Progress = no_progress,
) -> tuple[FloatArray, float]:
    """Train on `features` (n, d) and return the latent matrix (n, r) and the last epoch's mean loss.

    Fully connected, ReLU, symmetric: d - hidden - r - hidden - d, mean squared error, Adam. Tables over
    `train_sample` rows train on a seeded sample; all rows are encoded in chunks. CUDA is used where
    it is. One thread, so that the result does not depend on how many there are. O(epochs * n * d * hidden).
    """
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        torch.manual_seed(seed)
        width = features.shape[1]
        encoder = torch.nn.Sequential(
            torch.nn.Linear(width, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, latent_dimensions)
        ).to(device)
        decoder = torch.nn.Sequential(
            torch.nn.Linear(latent_dimensions, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, width)
        ).to(device)
        draw = np.random.default_rng(seed)
        sample = features.astype(np.float32)
        if len(sample) > train_sample:
            sample = sample[np.sort(draw.choice(len(sample), train_sample, replace=False))]
        rows = torch.from_numpy(sample).to(device)
        weights = [*encoder.parameters(), *decoder.parameters()]
        optimizer = torch.optim.Adam(weights, lr=learning_rate, foreach=False, fused=True)
        # Small batches are mostly overhead: the modules' own calls would take two thirds as long again.
        linear, relu = torch.nn.functional.linear, torch.nn.functional.relu
        (w1, b1, w2, b2), (w3, b3, w4, b4) = encoder.parameters(), decoder.parameters()
        loss_of_epoch = 0.0
        for epoch in range(epochs):
            order = torch.from_numpy(draw.permutation(len(sample))).to(device)
            shuffled, losses = rows[order], []
            for start in range(0, len(sample), batch):
                part = shuffled[start : start + batch]
                coded = linear(relu(linear(part, w1, b1)), w2, b2)
                loss = torch.nn.functional.mse_loss(linear(relu(linear(coded, w3, b3)), w4, b4), part)
                for weight in weights:
                    weight.grad = None
                loss.backward()  # type: ignore[no-untyped-call]  # torch declares no types for it
                optimizer.step()
                losses.append(loss.detach() * len(part))
            loss_of_epoch = float(torch.stack(losses).sum()) / len(sample)
            progress((epoch + 1) / epochs, f"epoch {epoch + 1} of {epochs}, loss {loss_of_epoch:.4f}")
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
