#pragma once
// Two runs in which everything that may be combined is combined, as files of settings. The text is
// so short that each run reaches its third epoch, and each ends in the middle of a period.
#include <string>

namespace skep::test {

constexpr std::size_t combined_text = 1201;  // characters: 68 windows to train on

/// What both have.
inline const std::string combined_base = R"(
[model]
layers = 2
heads = 2
width = 32
context = 16
dropout = 0.1
[optim]
lr = 0.01
[comm]
bucket_mb = 0.02
hash_every = 1
[checkpoint]
every = 1
keep = 100
kind = "base_diff"
max_diffs = 3
)";

/// For two ranks. An epoch lasts 6.8 steps, a cycle 5, and the steps 4, 8 and 12 update.
inline const std::string all_tricks = combined_base + R"(
[run]
steps = 14
eval_every = 0
[data]
tokenizer = "char"
sharding = "chaos"
common_fraction = 0.3
[batch]
micro_batch = 2
[schedule]
kind = "warm_restarts"
cycle = 5
jitter = 0.2
[sync]
rule = "accumulate"
period = 4
[compress]
codec = "topk_int8"
[loss]
view_weighting = "adaptive"
ema = 0.5
task_weighting = "uncertainty"
z_weight = 0.01
)";

/// For three or four ranks. An epoch lasts 5.7 steps; the phases begin after the steps 0, 2, 6, 9,
/// 10 and 14.
inline const std::string all_phases = combined_base + R"(
[run]
steps = 16
eval_every = 0
[data]
tokenizer = "char"
[batch]
micro_batch = 1
[[phase]]
until_step = 2
topology = "full_mesh"
sync = "every_step"
[[phase]]
until_step = 5
topology = "random_clusters"
cluster_size = 2
sync = "local_sgd"
period = 2
[[phase]]
until_epoch = 1.5
topology = "halving_doubling"
sync = "local_sgd"
period = 3
[[phase]]
until_step = 10
topology = "tree"
sync = "every_step"
[[phase]]
until_step = 14
topology = "ring"
sync = "diloco"
period = 2
[[phase]]
topology = "random_clusters"
cluster_size = 2
sync = "local_sgd"
period = 3
)";

}  // namespace skep::test
