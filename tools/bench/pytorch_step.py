"""One GPT-2 training step in PyTorch, timed: the peer of `bench peers`.

pytorch_step.py eager|compile LAYERS HEADS WIDTH VOCAB BATCH TOKENS RUNS [fp32|bf16] [cpu|cuda]
prints `seconds MEDIAN`. Forward, loss, backward, clip by norm, fused AdamW; one thread, or one GPU.
"""
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

mode = sys.argv[1]
layers, heads, width, vocab, batch, tokens, runs = map(int, sys.argv[2:9])
precision = sys.argv[9] if len(sys.argv) > 9 else "fp32"
device = sys.argv[10] if len(sys.argv) > 10 else "cpu"
torch.set_num_threads(1)
torch.manual_seed(1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(b, t, 3, heads, c // heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, width), nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        logits = self.norm(x) @ self.tokens.weight.T
        return F.cross_entropy(logits.view(-1, vocab).float(), targets.view(-1))


model = Gpt().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
ids = torch.randint(vocab, (batch, tokens), device=device)
targets = torch.randint(vocab, (batch, tokens), device=device)
loss_of = torch.compile(model) if mode == "compile" else model


def step():
    with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
        loss = loss_of(ids, targets)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


for _ in range(2):
    step()
seconds = []
for _ in range(runs):
    start = time.perf_counter()
    step()
    seconds.append(time.perf_counter() - start)
print("seconds", sorted(seconds)[len(seconds) // 2])
