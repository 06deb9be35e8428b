"""Volumes of an autoencoder of PyTorch: as a function of a batch, on Dask, and in the ONNX format.

    python docs/examples/torch_scorer.py

needs what ``pip install ".[dask,onnx]" torch onnx onnxscript`` installs.
"""

import io
import time

import numpy as np
import torch

import fastad

FEATURES = 4


class Score:
    """Mean squared error of the reconstruction; can be pickled, as a function inside could not."""

    def __init__(self, network: torch.nn.Module) -> None:
        self.network = network.eval()

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return a score for each row."""
        with torch.inference_mode():
            points = torch.from_numpy(rows.astype(np.float32))
            return ((self.network(points) - points) ** 2).mean(dim=1).numpy()


def train(rows: np.ndarray) -> torch.nn.Module:
    """Fit an autoencoder."""
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        *(torch.nn.Linear(FEATURES, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2)),
        *(torch.nn.Tanh(), torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, FEATURES)),
    )
    points = torch.from_numpy(rows.astype(np.float32))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(300):
        optimizer.zero_grad()
        ((network(points) - points) ** 2).mean().backward()
        optimizer.step()
    return network


def to_onnx(network: torch.nn.Module) -> bytes:
    """Return a model with any number of rows and its weights inside."""
    content = io.BytesIO()
    program = torch.onnx.export(
        *(network, (torch.zeros(2, FEATURES),)),
        input_names=["x"],
        dynamic_shapes=({0: torch.export.Dim("n")},),
        dynamo=True,
        verbose=False,
    )
    program.save(content)
    return content.getvalue()


def main() -> None:
    """Estimate the volume in three ways."""
    torch.set_num_threads(1)  # batches are small
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(2000, 2)) @ rng.normal(size=(2, FEATURES))
    normal += 0.1 * rng.normal(size=normal.shape)
    network = train(normal[:1000])
    score = Score(network)
    held_out = normal[1000:]
    box = fastad.Box.from_data(normal)
    threshold = float(np.quantile(score(held_out), 0.95))
    onnx = fastad.detectors.onnx_scorer(to_onnx(network), kind="reconstruction")
    ways = {
        "PyTorch": lambda: fastad.volume(score, threshold, box, method="uniform", rng=0),
        "on Dask": lambda: fastad.dask.volume(score, threshold, box, rng=0),
        "ONNX": lambda: fastad.volume(onnx, threshold, box, method="uniform", rng=0),
    }
    for name, estimate in ways.items():
        estimate()
        began = time.perf_counter()
        result = estimate()
        print(f"{name:8} {result}, {result.n_inside} inside, {time.perf_counter() - began:.1f} s")
    result = fastad.volume(onnx, threshold, box, data=held_out, rng=0)
    print(f"{result.method}: {result}")


if __name__ == "__main__":
    main()
