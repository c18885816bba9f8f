"""Odd shapes: single operations and a small GPT-2 at T = 1, 7, 65, 100, head size 24, V = 65 and 50257.

Nothing drawn is stored: inputs are a function of their name, by the counter-based generator that
engine/core/random.h has too. They are multiples of 1/64 in [-2, 2), times a power of two: numbers with
eight bits, the same in bf16, float32 and float64. So one float64 reference serves every type.
"""
import numpy as np
import torch
import torch.nn.functional as F
from reference import as_reference, save
from transformers import GPT2Config, GPT2LMHeadModel

SEED = 1
ROW = 24  # the head size: neighbours that are compared together
arrays = {}


def philox(key, low, high):
    """The first 64 bits of Philox4x32-10 for each counter in `low` (an array)."""
    mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    low = np.asarray(low, dtype=np.uint64)
    c = [low & mask, low >> shift, np.full_like(low, high & 0xFFFFFFFF), np.full_like(low, high >> 32)]
    k = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> shift) ^ c[1] ^ np.uint64(k[0]), b & mask, (a >> shift) ^ c[3] ^ np.uint64(k[1]), a & mask]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return (c[1] << shift) | c[0]


def key_of(name):
    label = 1469598103934665603
    for byte in name.encode():
        label = (label ^ byte) * 1099511628211 & (2**64 - 1)
    return int(philox(SEED, [label], 0x5B5E2D1F00000001)[0])


def drawn(name, *shape, scale=1.0):
    bits = philox(key_of(name), np.arange(int(np.prod(shape))), 0)
    values = ((bits >> np.uint64(56)).astype(np.float64) - 128) / 64 * scale
    return torch.from_numpy(values.reshape(shape))


def drawn_below(name, below, count):
    return [int(bits) * below >> 64 for bits in philox(key_of(name), np.arange(count), 0)]


def ids(name, below, *shape):
    return torch.tensor(drawn_below(name, below, int(np.prod(shape)))).reshape(shape)


def targets(name, below, *shape):
    """One in five without a loss; the first is the last class."""
    t = ids(name, below, *shape)
    t[ids(name + ".ignored", 5, *shape) == 0] = -1
    t.view(-1)[0] = below - 1
    return t


def store(name, tensor, whole=16384):
    """All of it as F32; if it is larger than `whole`, its norm (F64), 18 rows from anywhere and the last 3."""
    values = tensor.detach().numpy().reshape(-1)
    if values.size > whole:
        arrays[name + ".norm"] = as_reference(float(np.linalg.norm(values)))
        begins = [ROW * row for row in drawn_below(name + ".rows", values.size // ROW, 18)]
        begins += [values.size - ROW * row for row in (3, 2, 1)]
        values = np.concatenate([values[begin : begin + ROW] for begin in begins])
    arrays[name] = values.astype(np.float32)


def record(name, function, **inputs):
    """y, and the gradient of every float input for a drawn gradient of y."""
    for tensor in inputs.values():
        tensor.requires_grad_(tensor.is_floating_point())
    y = function(**inputs)
    y.backward(drawn(name + ".gy", *y.shape) if y.dim() else None)
    store(name + ".y", y.reshape(-1))
    for key, tensor in inputs.items():
        if tensor.requires_grad:
            store(f"{name}.g{key}", tensor.grad)


def attend(q, k, v):
    """Causal, over (B, T, H, D); the queries are the last of the keys; heads share keys in groups."""
    group = q.shape[2] // k.shape[2]
    q, k, v = (t.transpose(1, 2) for t in (q, k.repeat_interleave(group, 2), v.repeat_interleave(group, 2)))
    mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2)


def packed(heads):
    def run(qkv):
        q, k, v = (t.unflatten(-1, (heads, -1)) for t in qkv.chunk(3, dim=-1))
        return attend(q, k, v).flatten(2)
    return run


def loss(logits, wanted):
    return F.cross_entropy(logits, wanted, ignore_index=-1, reduction="sum")


for T, B in ((1, 2), (7, 2), (65, 1), (100, 1)):
    name = f"packed_attention.T{T}"
    record(name, packed(2), qkv=drawn(name + ".qkv", B, T, 3 * 2 * 24))
    name = f"linear.T{T}"
    record(name, F.linear, input=drawn(name + ".input", T, 24), weight=drawn(name + ".weight", 65, 24),
           bias=drawn(name + ".bias", 65))
    name = f"head.T{T}.V65"  # 72 rows, the last seven are padding
    t = targets(name + ".targets", 65, T)
    record(name, lambda x, weight: loss(x @ weight[:65].T, t), x=drawn(name + ".x", T, 24, scale=0.25),
           weight=drawn(name + ".weight", 72, 24))
    name = f"layer_norm.T{T}"
    record(name, lambda x, gain, bias: F.layer_norm(x, (24,), gain, bias), x=drawn(name + ".x", T, 24),
           gain=drawn(name + ".gain", 24), bias=drawn(name + ".bias", 24))

for T, S in ((1, 65), (7, 100)):  # a cache of keys, four heads on two
    name = f"attention.T{T}.S{S}"
    record(name, attend, q=drawn(name + ".q", 1, T, 4, 24), k=drawn(name + ".k", 1, S, 2, 24),
           v=drawn(name + ".v", 1, S, 2, 24))

def z_loss(logits, wanted):
    """0.25 (log-sum-exp)^2 a token more."""
    return loss(logits, wanted) + 0.25 * (logits.logsumexp(-1)[wanted != -1] ** 2).sum()


for V in (65, 50257):
    name = f"cross_entropy.T7.V{V}"
    t = targets(name + ".targets", V, 7)
    record(name, lambda logits: loss(logits, t), logits=drawn(name + ".logits", 7, V))
    name = f"z_cross_entropy.T7.V{V}"
    z = targets(name + ".targets", V, 7)
    record(name, lambda logits: z_loss(logits, z), logits=drawn(name + ".logits", 7, V))
    name = f"softmax.T7.V{V}"
    record(name, lambda x: x.softmax(-1), x=drawn(name + ".x", 7, V))
    name = f"gelu.T7.V{V}"
    record(name, lambda x: F.gelu(x, approximate="tanh"), x=drawn(name + ".x", 7, V))

name = "z_head.T65.V65"
t = targets(name + ".targets", 65, 65)
record(name, lambda x, weight: z_loss(x @ weight[:65].T, t), x=drawn(name + ".x", 65, 24, scale=0.25),
       weight=drawn(name + ".weight", 72, 24))

name = "head.T100.V50257"
wanted = targets(name + ".targets", 50257, 100)
record(name, lambda x, weight: loss(x @ weight.T, wanted), x=drawn(name + ".x", 100, 24, scale=0.125),
       weight=drawn(name + ".weight", 50257, 24))
name = "embedding.T100.V50257"
tokens = ids(name + ".tokens", 50257, 100)
tokens[0] = tokens[99] = 50256
record(name, lambda table: F.embedding(tokens, table), table=drawn(name + ".table", 50257, 24))


def record_gpt2(name, layers, T, V):
    """Two heads of 24, batch 2: loss_sum, the last logits, every gradient. Parameters are drawn under
    their Hugging Face names; a norm's gain is 1 plus a sixteenth of what is drawn."""
    config = GPT2Config(vocab_size=V, n_positions=T, n_embd=48, n_layer=layers, n_head=2,
                        activation_function="gelu_new", attn_pdrop=0, embd_pdrop=0, resid_pdrop=0,
                        use_cache=False, bos_token_id=0, eos_token_id=0)
    config._attn_implementation = "eager"
    model = GPT2LMHeadModel(config).double().train()
    with torch.no_grad():
        for key, p in model.named_parameters():
            gain = p.dim() == 1 and key.endswith(".weight")
            p.copy_(gain + drawn(f"{name}.{key}", *p.shape, scale=1 / 16))
    logits = model(ids(name + ".tokens", V, 2, T)).logits
    total = loss(logits.flatten(0, 1), targets(name + ".targets", V, 2, T).flatten())
    total.backward()
    arrays[name + ".loss_sum"] = as_reference(total)
    store(name + ".logits", logits[:, -1], whole=512)
    for key, p in model.named_parameters():
        store(f"{name}.grad.{key}", p.grad, whole=512)


for T in (1, 7, 65, 100):
    record_gpt2(f"gpt2.T{T}.V65", 2 if T == 100 else 1, T, 65)
record_gpt2("gpt2.T7.V50257", 1, 7, 50257)
save("odd_shapes", arrays)
