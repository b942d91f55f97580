"""Two processes with half the batch each must be one process with the whole batch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from safetensors.torch import load_file, save_file
from tests.methods.harness import ToyNetwork, make_features, make_truth, some_of_each
from tests.processes import two_together
from tests.train.given import write_given_features
from torch import Tensor

from tagfill import methods
from tagfill.cli.main import main
from tagfill.methods.base import Setup
from tagfill.models.plain_heads import GRID, LinearConfig, LinearHead
from tagfill.train.config import MethodConfig, StageConfig
from tagfill.train.forward import Forward, StageData
from tagfill.train.inputs import FeatureInputs
from tagfill.train.processes import World, make_accelerator, place, scores

ROWS = torch.tensor([3, 7, 11, 2, 19, 23, 5])  # an odd number: one share is padded
EPOCH = 3


@pytest.mark.parametrize("shape", [(), (GRID, GRID)])
def test_scores_of_features_do_not_depend_on_threads(
    one_thread: None, shape: tuple[int, ...]
) -> None:
    torch.manual_seed(0)
    head = LinearHead(1280, 28, LinearConfig(regions=bool(shape)))
    inputs = FeatureInputs(torch.rand(8, 1280, *shape))
    made = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        with torch.no_grad():
            made.append(scores(head, inputs, World(), torch.device("cpu")))
    assert torch.equal(*made)


def started(name: str, observed: Tensor, truth: Tensor) -> methods.base.Method:
    method = methods.make(name)
    setup = Setup(
        observed=observed,
        epochs=10,
        steps_per_epoch=4,
        expected_positives=float(truth.float().sum(1).mean()),
        class_prior=truth.float().mean(0),
        truth=truth if method.needs.truth else None,
    )
    method.start(setup)
    return method


def loss_and_gradients(name: str) -> dict[str, Tensor]:
    """One step of a method in whatever world this process lives in."""
    truth = make_truth()
    observed, features = some_of_each(truth), make_features(truth)
    method = started(name, observed, truth)
    world = World.current()
    network = ToyNetwork()
    network.project.requires_grad_(method.needs.embeddings)
    strong = features[None] + 0.1 if method.needs.two_views else None
    inputs = FeatureInputs(features, strong)
    data = StageData(inputs, observed, truth if method.needs.truth else None)
    placement = place(network, make_accelerator(), StageConfig(MethodConfig("an")))
    forward = Forward(placement, method, data, seed=0)
    batch = next(inputs.batches([world.share(ROWS)], EPOCH))
    terms = method.loss(forward(ROWS, batch, EPOCH, 0, 0))
    total = torch.stack(list(terms.values())).sum()
    total.backward()
    tensors = {"loss": total.detach()}
    for key, parameter in network.named_parameters():
        if parameter.grad is not None:
            tensors[f"network.{key}"] = parameter.grad
    for number, group in enumerate(method.parameter_groups()):
        for index, parameter in enumerate(group.parameters):
            if parameter.grad is not None:
                tensors[f"method.{number}.{index}"] = parameter.grad.to_dense()
    tensors["scores"] = scores(network, FeatureInputs(features[:13]), world, torch.device("cpu"))
    return tensors


def worker(rank: int, folder: Path) -> None:
    make_accelerator()
    assert World.current() == World(rank, 2)
    for name in methods.names():
        tensors = loss_and_gradients(name)
        save_file(
            {key: tensor.contiguous() for key, tensor in tensors.items()}, folder / f"{name}-{rank}"
        )
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes found, for every method."""
    folder = tmp_path_factory.mktemp("pair")
    for attempt in range(3):
        try:
            two_together(worker, folder)
            break
        except mp.ProcessExitedException:  # gloo may abort; what a worker raises is another error
            if attempt == 2:
                raise
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", methods.names())
def test_two_halves_make_a_whole(name: str, pair: Path) -> None:
    alone = loss_and_gradients(name)
    together = [load_file(pair / f"{name}-{rank}") for rank in (0, 1)]
    for half in together:
        assert set(half) == set(alone)
        for key, expected in alone.items():
            torch.testing.assert_close(half[key], expected, rtol=1e-5, atol=1e-6, msg=key)


@pytest.mark.slow
def test_a_run_of_two_processes_ends_like_a_run_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_given_features(tmp_path / "data")
    options = ["--method", "role", "--epochs", "4", "--learning-rate", "0.02", "--threads", "1"]
    train = ["train", str(data), *options, "--json", "--quiet", "--out"]
    assert main([*train, str(tmp_path / "one")]) == 0
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2"]
    launch += ["-m", "tagfill.cli.main", *train, str(tmp_path / "two")]
    done = subprocess.run(launch, check=True, capture_output=True, text=True)
    ends = [json.loads(text) for text in (capsys.readouterr().out, done.stdout)]
    assert all((tmp_path / out / "report.html").is_file() for out in ("one", "two"))
    assert ends[0]["best_epoch"] == ends[1]["best_epoch"]
    for split in ("val", "test"):
        assert ends[0][split]["mAP"] == pytest.approx(ends[1][split]["mAP"], abs=0.01)
    events = (tmp_path / "two" / "events.jsonl").read_text().splitlines()
    assert sum(json.loads(line)["event"] == "epoch" for line in events) == 4
