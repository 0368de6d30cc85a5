"""The encoder: small trainings, the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.representation import autoencoder
from tasks.representation.autoencoder import encode

FEATURES = np.random.default_rng(1).normal(size=(300, 6))


def test_one_seed_gives_one_latent_space_on_any_number_of_threads() -> None:
    import torch

    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(encode(FEATURES, epochs=2, seed=7))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    (latent, loss), (again, loss_again) = found
    assert latent.shape == (300, 3)
    assert latent.tobytes() == again.tobytes()
    assert loss == loss_again
    assert not np.array_equal(latent, encode(FEATURES, epochs=2, seed=8)[0])


def test_training_lowers_the_loss() -> None:
    losses = [encode(FEATURES, epochs=epochs, learning_rate=1e-2)[1] for epochs in (1, 12)]
    assert losses[1] < 0.9 * losses[0]


def test_a_sample_trains_and_everybody_is_encoded_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = encode(FEATURES, epochs=1, train_sample=100)
    monkeypatch.setattr(autoencoder, "CHUNK", 64)
    chunked, _ = encode(FEATURES, epochs=1, train_sample=100)
    assert whole.shape == (300, 3)
    assert chunked == pytest.approx(whole, abs=1e-6)
    assert not np.allclose(whole, encode(FEATURES, epochs=1)[0])


def test_progress_is_told_each_epoch() -> None:
    told: list[float] = []
    encode(FEATURES, epochs=2, progress=lambda share, _words: told.append(share))
    assert told == [0.5, 1.0]


def test_records_alike_are_encoded_alike() -> None:
    latent, _ = encode(np.ones((10, 2)), epochs=1, latent_dimensions=2)
    assert not np.ptp(latent, axis=0).any()


@pytest.mark.parametrize(("n", "width", "latent"), [(300, 6, 3), (129, 1, 2)])
def test_the_weights_are_those_that_autograd_and_adam_give(n: int, width: int, latent: int) -> None:
    import torch

    features = np.round(np.random.default_rng(2).normal(size=(n, width)), 1)
    torch.manual_seed(5)
    layers = [torch.nn.Linear(*size) for size in ((width, 32), (32, latent), (latent, 32), (32, width))]
    first, second, third, fourth = layers
    model = torch.nn.Sequential(first, torch.nn.ReLU(), second, third, torch.nn.ReLU(), fourth)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False, fused=True)
    draw, rows = np.random.default_rng(5), torch.from_numpy(features.astype(np.float32))
    for _ in range(3):
        shuffled = rows[torch.from_numpy(draw.permutation(n))]
        for part in shuffled.split(128):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(part), part).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    with torch.no_grad():
        expected = model[:3].double()(torch.from_numpy(features)).float().double().numpy()
    found, _ = encode(features, latent_dimensions=latent, epochs=3, seed=5)
    assert found.tobytes() == expected.tobytes()
