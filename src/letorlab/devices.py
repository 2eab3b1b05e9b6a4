"""Where torch computes."""

from __future__ import annotations

import torch

from letorlab.errors import InputError


def torch_device(name: str) -> torch.device:
    """A device by name; "auto" is the GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device {name!r} can not be used here: {error}. Use 'auto' or 'cpu'") from error
