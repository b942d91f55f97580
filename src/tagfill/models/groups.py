"""Parameters sorted for the optimizer."""

from __future__ import annotations

from typing import Any

from torch import nn

from tagfill.models.network import Network


def parameter_groups(
    network: Network,
    learning_rate: float,
    *,
    weight_decay: float = 0.0,
    decay_all: bool = False,
    head_multiplier: float = 1.0,
) -> list[dict[str, Any]]:
    """Groups of trainable parameters for a torch optimizer.

    Args:
        network: whose parameters.
        learning_rate: of the backbone.
        weight_decay: of matrices and kernels.
        decay_all: also decay vectors (biases, norms) and embeddings, as the published protocols do.
        head_multiplier: learning rate of the head over that of the backbone.

    Returns:
        Dictionaries with ``params``, ``lr``, ``weight_decay`` and ``name``; empty groups are left
        out.
    """
    groups: dict[tuple[float, bool, str], list[nn.Parameter]] = {}
    for name, parameter in network.named_parameters():
        if not parameter.requires_grad:
            continue
        part = name.partition(".")[0]
        own_rate = learning_rate * (1.0 if part == "backbone" else head_multiplier)
        decays = decay_all or (parameter.ndim > 1 and not _is_embedding(name))
        groups.setdefault((own_rate, decays, part), []).append(parameter)
    return [
        {
            "name": f"{part}{'' if decays else ', no decay'}",
            "params": parameters,
            "lr": own_rate,
            "weight_decay": weight_decay if decays else 0.0,
        }
        for (own_rate, decays, part), parameters in groups.items()
    ]


def _is_embedding(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last in ("queries", "pos_embed", "cls_token", "reg_token", "position_embeddings")
