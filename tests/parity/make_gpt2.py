"""GPT-2 references: logits, losses, gradients and optimizer steps in float64.

The model with biases is transformers' GPT2LMHeadModel. nanoGPT's bias=False has no counterpart there,
so the one without biases is the same model whose biases are zero and never trained; its files simply
lack them, which is what a model without biases computes.
"""
import torch
import torch.nn.functional as F
import transformers
from reference import Numbers, as_input, as_reference, save
from transformers import GPT2Config, GPT2LMHeadModel

IGNORED = -1  # how the files mark a target without a loss; transformers' own mark is -100
VERSION = f", transformers {transformers.__version__}"
BIASES = ("with biases", "without biases")


def build(numbers, biases, layers, heads, width, context, vocabulary):
    config = GPT2Config(
        vocab_size=vocabulary, n_positions=context, n_embd=width, n_layer=layers, n_head=heads,
        activation_function="gelu_new", layer_norm_epsilon=1e-5, attn_pdrop=0, embd_pdrop=0,
        resid_pdrop=0, tie_word_embeddings=True, use_cache=False, bos_token_id=0, eos_token_id=0)
    config._attn_implementation = "eager"
    model = GPT2LMHeadModel(config).double().train()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(".bias"):
                fresh = numbers.normal(*parameter.shape, scale=0.1)
                parameter.copy_(fresh if biases == BIASES[0] else torch.zeros_like(fresh))
            elif parameter.dim() == 1:  # a norm's gain
                parameter.copy_(numbers.normal(*parameter.shape, scale=0.1, mean=1.0))
            else:
                parameter.copy_(numbers.normal(*parameter.shape, scale=0.1))
    if biases == BIASES[1]:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(not name.endswith(".bias"))
    return model


def trained(model):
    """Name -> parameter, named as save_pretrained does, each tied one once, no switched-off ones."""
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def draw_batch(numbers, vocabulary, sequences, tokens):
    """Tokens and independent random targets, about one in five without a loss (but never all)."""
    ids = numbers.ids(vocabulary, sequences, tokens)
    targets = numbers.ids(vocabulary, sequences, tokens)
    targets[numbers.ids(5, sequences, tokens) == 0] = IGNORED
    targets[0, 0] = 3
    return ids, targets


def forward(model, ids, targets):
    """Logits (B, T, V), the sum of the token losses and how many tokens have one."""
    logits = model(ids).logits
    loss = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum")
    return logits, loss, int((targets != IGNORED).sum())


def fill_gradients(model, ids, targets):
    model.zero_grad(set_to_none=True)
    logits, loss, count = forward(model, ids, targets)
    loss.backward()
    return logits, loss, count


def train(model, ids, targets, steps):
    """AdamW on one batch; the loss before each update and the gradient norm before clipping."""
    parameters = list(trained(model).values())
    optimizer = torch.optim.AdamW(
        [{"params": [p for p in parameters if p.dim() >= 2], "weight_decay": 0.1},
         {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}],
        lr=1e-3, betas=(0.9, 0.99), eps=1e-8)
    losses, norms = [], []
    for _ in range(steps):
        _, loss, count = fill_gradients(model, ids, targets)
        for p in parameters:
            p.grad /= count
        norms.append(float(torch.nn.utils.clip_grad_norm_(parameters, 1.0)))
        optimizer.step()
        losses.append(loss.item() / count)
    return losses, norms


def plain_logits(p, ids, layers, heads):
    """The model once more, from its formulas: shows that the library ran in float64 throughout, and that
    zero biases and no biases are the same."""
    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], p[f"{name}.weight"], p.get(f"{name}.bias"), eps=1e-5)

    def project(x, name):
        y = x @ p[f"{name}.weight"]
        return y + p[f"{name}.bias"] if f"{name}.bias" in p else y

    x = p["transformer.wte.weight"][ids] + p["transformer.wpe.weight"][: ids.shape[1]]
    for block in (f"transformer.h.{layer}" for layer in range(layers)):
        qkv = project(norm(x, f"{block}.ln_1"), f"{block}.attn.c_attn")
        q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in qkv.chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + project(mixed, f"{block}.attn.c_proj")
        hidden = F.gelu(project(norm(x, f"{block}.ln_2"), f"{block}.mlp.c_fc"), approximate="tanh")
        x = x + project(hidden, f"{block}.mlp.c_proj")
    return norm(x, "transformer.ln_f") @ p["transformer.wte.weight"].T


def check_logits(model, ids, logits, layers, heads):
    difference = (plain_logits(trained(model), ids, layers, heads) - logits).abs().max().item()
    assert difference < 1e-12, f"logits differ by {difference}"


def make_tiny(name, biases, seed):
    """Everything: values and gradients of all parameters, and ten steps of training."""
    numbers = Numbers(seed)
    model = build(numbers, biases, layers=2, heads=2, width=32, context=16, vocabulary=61)
    ids, targets = draw_batch(numbers, 61, sequences=3, tokens=13)
    arrays = {"tokens": as_input(ids), "targets": as_input(targets)}
    arrays |= {k: as_input(p) for k, p in trained(model).items()}
    logits, loss, count = fill_gradients(model, ids, targets)
    check_logits(model, ids, logits, layers=2, heads=2)
    arrays |= {"logits": as_reference(logits), "loss_sum": as_reference(loss.item()),
               "loss_count": as_reference(count)}
    arrays |= {f"grad.{k}": as_reference(p.grad) for k, p in trained(model).items()}
    losses, norms = train(model, ids, targets, steps=10)
    arrays |= {"train.loss": as_reference(losses), "train.grad_norm": as_reference(norms)}
    # Rounded to F32 (relative error 6e-8) to halve the file.
    arrays |= {f"final.{k}": p.detach().float().numpy() for k, p in trained(model).items()}
    save(name, arrays, VERSION)


def make_shape(name, biases, seed, heads, head_size, tokens, sequences):
    """An odd shape: loss, last row of logits, and the norm of each parameter's gradient."""
    numbers = Numbers(seed)
    model = build(numbers, biases, layers=1, heads=heads, width=heads * head_size, context=tokens,
                  vocabulary=23)
    ids, targets = draw_batch(numbers, 23, sequences, tokens)
    arrays = {"tokens": as_input(ids), "targets": as_input(targets)}
    arrays |= {k: as_input(p) for k, p in trained(model).items()}
    logits, loss, count = fill_gradients(model, ids, targets)
    check_logits(model, ids, logits, layers=1, heads=heads)
    arrays |= {"logits_last": as_reference(logits[:, -1]), "loss_sum": as_reference(loss.item()),
               "loss_count": as_reference(count)}
    arrays |= {f"grad_norm.{k}": as_reference(p.grad.norm().item()) for k, p in trained(model).items()}
    save(name, arrays, VERSION)


make_tiny("gpt2_tiny", BIASES[0], seed=1)
make_tiny("gpt2_tiny_nobias", BIASES[1], seed=2)
make_shape("gpt2_t1", BIASES[0], seed=3, heads=1, head_size=24, tokens=1, sequences=2)
make_shape("gpt2_t7", BIASES[0], seed=4, heads=2, head_size=24, tokens=7, sequences=2)
make_shape("gpt2_t65", BIASES[0], seed=5, heads=1, head_size=24, tokens=65, sequences=2)
