// inspect gpu: every op on the GPU against fp64 on the CPU. The op table drives it, so no op can be
// left out; attention runs in the sizes besides that the vendor's library takes.
#include <cmath>
#include <limits>

#include "engine/backends/devices.h"
#include "engine/backends/transfer.h"
#include "engine/core/error.h"
#include "engine/core/random.h"
#include "engine/kernels/copy.h"
#include "engine/ops/op_table.h"
#include "engine/ops/ops.h"
#include "engine/ops/parity.h"
#include "tools/common/print.h"
#include "tools/inspect/commands.h"

namespace skep {
namespace {

constexpr Device gpu{Device::Kind::cuda, 0};
constexpr DType types[] = {DType::f32, DType::bf16, DType::f16};

struct Case {
  std::string name;
  Function call;
  std::vector<Tensor> inputs;  ///< on the CPU; normal ones hold numbers that every type has
};

void add_op_cases(std::vector<Case>& cases, std::uint64_t seed) {
  for (const OpEntry* op : op_table())
    for (const OpSample& sample : op->samples())
      cases.push_back({op->name(), sample.call, make_inputs(sample, DType::bf16, seed)});
}

// (B, T, H, D) queries on (B, S, K, D) keys.
void add_attention_cases(std::vector<Case>& cases, std::uint64_t seed) {
  struct Sizes {
    std::int64_t batch, queries, keys, heads, key_heads, width;
  };
  // A simulated one takes its time.
  const std::vector<Sizes> all = gpu_support().simulated
                                     ? std::vector<Sizes>{{1, 9, 9, 2, 1, 16}, {1, 5, 8, 2, 2, 8}}
                                     : std::vector<Sizes>{{2, 128, 128, 4, 4, 64},
                                                          {1, 100, 100, 4, 2, 64},
                                                          {2, 64, 128, 4, 4, 128},
                                                          {1, 200, 200, 2, 2, 96}};
  for (const Sizes& n : all) {
    const auto make = [&](std::int64_t count, std::int64_t heads, std::uint64_t part) {
      return with_grad(
          random_tensor({n.batch, count, heads, n.width}, DType::bf16, derive_key(seed, part)));
    };
    for (const auto causal : {AttentionOptions::Causal::yes, AttentionOptions::Causal::no})
      cases.push_back({fmt::format("attention {}x{}x{}x{}{}", n.batch, n.keys, n.heads, n.width,
                                   causal == AttentionOptions::Causal::yes ? " causal" : ""),
                       [causal](const std::vector<Tensor>& in) {
                         return std::vector{attention(in[0], in[1], in[2], {}, {causal, 0})};
                       },
                       {make(n.queries, n.heads, 0), make(n.keys, n.key_heads, 1),
                        make(n.keys, n.key_heads, 2)}});
  }
}

std::vector<Tensor> inputs_of(const Case& c, DType dtype, Device device) {
  std::vector<Tensor> inputs;
  for (const Tensor& t : c.inputs) {
    if (!t.defined() || !is_float(t.dtype())) {
      inputs.push_back(to_device(t, device));
    } else {
      inputs.push_back(with_grad(to_device(converted(t, dtype), device)));
    }
  }
  return inputs;
}

// What tensors made next will find in their memory, where the device hands out what it got back.
void poison_memory() {
  std::vector<Tensor> blocks;
  const std::int64_t most = gpu_support().simulated ? 1 << 8 : 1 << 20;
  for (std::int64_t elements = 64; elements <= most; elements *= 4)
    for (int i = 0; i < 4; ++i) {
      blocks.push_back(empty({elements}, DType::f32, gpu));
      fill(blocks.back(), std::numeric_limits<double>::quiet_NaN());
    }
}

struct Tally {
  int right = 0;
  std::vector<std::string> wrong;
};

// Worst error of a type over the expected one, for the cases of one name.
double worst_of(const std::vector<const Case*>& cases, DType dtype) {
  double worst = 0;
  for (const Case* c : cases) {
    const Outcome exact = run_both_ways(c->call, inputs_of(*c, DType::f64, {}));
    poison_memory();
    const Outcome got = run_both_ways(c->call, inputs_of(*c, dtype, gpu));
    worst = std::max(worst, relative_error(got, exact));
  }
  return worst;
}

void check_cases(const std::vector<const Case*>& cases, Tally& tally) {
  const std::string& name = cases.front()->name;
  std::string line = fmt::format("{:<32}", name);
  for (const DType dtype : types) {
    const double worst = worst_of(cases, dtype);
    const bool ok = worst < 2 * rounding_of(dtype);  // false for NaN
    line += fmt::format(" {:>9.1e} {:<4}", worst, ok ? "ok" : "FAIL");
    if (ok) {
      ++tally.right;
    } else {
      tally.wrong.push_back(fmt::format("{} in {} ({:.1e})", name, name_of(dtype), worst));
    }
  }
  print(line + "\n");
}

}  // namespace

void inspect_gpu(const Arguments& arguments) {
  const auto flags = make_flags("inspect gpu",
                                "Compares every op on the GPU, forward and backward, in fp32, bf16 "
                                "and fp16, with fp64 on the CPU. Exit code 1 when one is wrong.");
  std::int64_t seed = 1;
  std::string only;
  add_number(*flags, "--seed", "S", seed, "of the inputs");
  flags->add_option("--op", only, "only this one")->type_name("NAME");
  if (const std::string help = parse(*flags, arguments); !help.empty()) return print(help);
  if (const GpuSupport gpus = gpu_support(); gpus.devices == 0)
    fail(ErrorKind::usage, "inspect gpu: {}", gpus.reason);

  std::vector<Case> cases;
  add_op_cases(cases, static_cast<std::uint64_t>(seed));
  add_attention_cases(cases, static_cast<std::uint64_t>(seed));
  print(fmt::format("{}\n{:<32} {:>14} {:>14} {:>14}\n", describe_gpu(0), "op", "fp32     ",
                    "bf16     ", "fp16     "));
  Tally tally;
  for (std::size_t i = 0; i < cases.size();) {
    std::vector<const Case*> group;
    for (const std::string name = cases[i].name; i < cases.size() && cases[i].name == name; ++i)
      group.push_back(&cases[i]);
    if (only.empty() || group.front()->name == only) check_cases(group, tally);
  }
  if (tally.right + tally.wrong.size() == 0)
    fail(ErrorKind::usage, "no op is called {}; inspect gradcheck lists them", only);
  print(fmt::format("{} right, {} wrong\n", tally.right, tally.wrong.size()));
  if (!tally.wrong.empty())
    fail(ErrorKind::bug, "the GPU is wrong: {}", fmt::join(tally.wrong, "; "));
}

}  // namespace skep
