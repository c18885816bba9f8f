"""References for single operations: inputs, output, and the gradient of every float input.

Case N of an operation is stored under `operation.N.`: inputs by their names, the output `y`, the
incoming gradient `gy`, and `g<input>` for what comes back.
"""
import torch
import torch.nn.functional as F
from reference import Numbers, as_input, as_reference, save

numbers = Numbers(seed=11)
arrays = {}
cases = {}


def record(operation, function, **inputs):
    """Runs one case and stores all of it. Float inputs get gradients, ids and masks do not."""
    prefix = f"{operation}.{cases.setdefault(operation, 0)}."
    cases[operation] += 1
    for tensor in inputs.values():
        tensor.requires_grad_(tensor.is_floating_point())
    y = function(**inputs)
    gy = numbers.normal(*y.shape)
    y.backward(gy)
    for name, tensor in inputs.items():
        arrays[prefix + name] = as_input(tensor)
        if tensor.requires_grad:
            arrays[prefix + "g" + name] = as_reference(tensor.grad)
    arrays[prefix + "gy"] = as_input(gy)
    arrays[prefix + "y"] = as_reference(y)


def normal(*shape, **scale_and_mean):
    return numbers.normal(*shape, **scale_and_mean)


def table(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def linear(x, weight, bias=None):
    return F.linear(x, weight, bias)


def layer_norm(x, gain, bias=None):
    return F.layer_norm(x, gain.shape, gain, bias, eps=1e-5)


def attention(q, k, v, mask):
    """softmax(q kᵀ / √size) v over the keys `mask` allows (true: may look), 0 if it allows none."""
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    some = mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -torch.inf).masked_fill(~some, 0)
    return (scores.softmax(-1) * some) @ v


def causal_attention(q, k, v):
    mask = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool).tril()
    y = attention(q, k, v, mask)
    library = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert (y - library).abs().max() < 1e-12, "attention differs from torch's own"
    return y


def record_cross_entropy(logits, targets):
    """The sum of the token losses, a scalar: its own gradient is 1."""
    prefix = f"cross_entropy.{cases.setdefault('cross_entropy', 0)}."
    cases["cross_entropy"] += 1
    logits.requires_grad_()
    loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=-1, reduction="sum")
    loss.backward()
    arrays[prefix + "logits"] = as_input(logits)
    arrays[prefix + "targets"] = as_input(targets)
    arrays[prefix + "loss_sum"] = as_reference(loss)
    arrays[prefix + "loss_count"] = as_reference(int((targets != -1).sum()))
    arrays[prefix + "glogits"] = as_reference(logits.grad)


def softmax(x):
    return x.softmax(-1)


def gelu(x):
    return F.gelu(x, approximate="tanh")


def embedding(ids, weight):
    return F.embedding(ids, weight)


record("linear", linear, x=normal(2, 5, 7), weight=normal(11, 7), bias=normal(11))
record("linear", linear, x=normal(13, 24), weight=normal(3, 24))
record("linear", linear, x=normal(1, 33), weight=normal(17, 33), bias=normal(17))

record("matmul", lambda a, b: a @ b, a=normal(17, 33), b=normal(33, 9))
record("matmul", lambda a, b: a @ b, a=normal(3, 5, 7), b=normal(3, 7, 4))
record("matmul", lambda a, b: a @ b, a=normal(2, 3, 1, 9), b=normal(2, 3, 9, 6))

record("gelu", gelu, x=normal(5, 13, scale=2.0))
record("gelu", gelu,
       x=table(0, 2.0**-30, -(2.0**-30), 0.5, -0.5, 1, -1, 3, -3, 6, -6, 20, -20, 1000, -1000))

record("softmax", softmax, x=normal(3, 5, 17))
record("softmax", softmax,
       x=table([1000, 999, -1000], [-1000, -1000, -1000], [0, 88, 89], [2.0**127, 0, -(2.0**127)]))
record("softmax", softmax, x=normal(4, 1))

record("layer_norm", layer_norm, x=normal(2, 5, 24), gain=normal(24, scale=0.1, mean=1),
       bias=normal(24))
record("layer_norm", layer_norm, x=normal(7, 33, scale=3, mean=-2), gain=normal(33))
record("layer_norm", layer_norm, x=table([40000, 40001, 40002, 40003]),
       gain=torch.ones(4), bias=torch.zeros(4))
record("layer_norm", layer_norm, x=torch.full((1, 256), 1234.0),
       gain=torch.ones(256), bias=torch.zeros(256))
record("layer_norm", layer_norm, x=normal(3, 17, scale=1.0, mean=10000),
       gain=normal(17), bias=normal(17))

record("embedding", embedding, ids=torch.tensor([[0, 6, 6, 2], [2, 6, 0, 5], [6, 6, 6, 6]]),
       weight=normal(7, 5))

record("causal_attention", causal_attention,
       q=normal(2, 2, 7, 24), k=normal(2, 2, 7, 24), v=normal(2, 2, 7, 24))
record("causal_attention", causal_attention,
       q=normal(1, 1, 65, 24), k=normal(1, 1, 65, 24), v=normal(1, 1, 65, 24))
record("causal_attention", causal_attention,
       q=normal(2, 3, 1, 5), k=normal(2, 3, 1, 5), v=normal(2, 3, 1, 5))
record("causal_attention", causal_attention,
       q=torch.full((1, 1, 4, 128), 64.0), k=torch.full((1, 1, 4, 128), 64.0),
       v=normal(1, 1, 4, 128))

record("masked_attention", attention,
       q=normal(1, 2, 4, 6), k=normal(1, 2, 4, 6), v=normal(1, 2, 4, 6),
       mask=torch.tensor([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1]]).bool())

targets = numbers.ids(11, 2, 5)
targets[0, 1] = targets[1, 4] = targets[1, 3] = -1
record_cross_entropy(normal(2, 5, 11), targets)
record_cross_entropy(normal(1, 3, 7), torch.full((1, 3), -1))
record_cross_entropy(table([10000, 0, -10000], [0, 10000, 0], [5, 5, 5], [-30000, -30000, 30000]),
                     torch.tensor([0, 0, 2, 2]))

save("ops", arrays)
