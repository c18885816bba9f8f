"""What both generators share: deterministic numbers, and files small enough to keep.

Inputs are drawn in float64 and rounded to float32, so that a float32 program starts from exactly the
numbers the float64 reference used. They are stored as F32, references as F64.
"""
import pathlib

import numpy as np
import torch
from safetensors.numpy import save_file

FOLDER = pathlib.Path(__file__).parent
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)


class Numbers:
    """A seeded stream of float32-representable normal numbers, held in float64."""

    def __init__(self, seed):
        self.generator = np.random.Generator(np.random.PCG64(seed))

    def normal(self, *shape, scale=1.0, mean=0.0):
        values = mean + scale * self.generator.standard_normal(shape)
        return torch.from_numpy(values.astype(np.float32).astype(np.float64))

    def ids(self, below, *shape):
        return torch.from_numpy(self.generator.integers(0, below, shape))


def as_input(tensor):
    """F32 for numbers (exact by construction), I32 for ids, BOOL for masks."""
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bool:
        return tensor.numpy()
    if not tensor.is_floating_point():
        return tensor.numpy().astype(np.int32)
    values = tensor.numpy().astype(np.float32)
    assert (values == tensor.numpy()).all(), "an input is not a float32 number"
    return values


def as_reference(value):
    """F64, a scalar for a Python number."""
    if isinstance(value, torch.Tensor):
        value = value.detach().numpy()
    return np.array(value, dtype=np.float64, order="C")


def save(name, arrays, made_with=""):
    """One metadata key only: the library writes several in no fixed order, and files must not vary."""
    path = FOLDER / f"{name}.safetensors"
    made_with = f"torch {torch.__version__.split('+')[0]}, numpy {np.__version__}{made_with}"
    save_file({key: np.asarray(array) for key, array in arrays.items()}, path, {"made_with": made_with})
    path.chmod(0o644)
    print(f"{path.name}: {len(arrays)} tensors, {path.stat().st_size} bytes")
