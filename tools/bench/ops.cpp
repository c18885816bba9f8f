// bench ops: how fast each op is, forward and backward, beside what this core can do at best: the
// best product for what multiplies, a triad through memory for what moves. Every run starts with
// cold caches, as in a step whose activations are far larger than they are; a result that fits into
// one may still leave the triad behind.
#include <algorithm>

#include "engine/autograd/tape.h"
#include "engine/backends/cpu/threads.h"
#include "engine/kernels/copy.h"
#include "engine/ops/op_table.h"
#include "tools/bench/commands.h"
#include "tools/bench/op_cases.h"
#include "tools/common/print.h"
#include "train/observe/peak.h"

namespace skep {
namespace {

// Hands a gradient to each of its inputs, as a loss would, and costs nothing itself.
struct Start final : Node {
  std::vector<Tensor> gradients;
  void backward(std::span<const Tensor>, GradSink& sink) override {
    for (std::size_t i = 0; i < gradients.size(); ++i) sink.give(static_cast<int>(i), gradients[i]);
  }
};

Tensor record_start(Tape& tape, const std::vector<Tensor>& outputs) {
  auto node = std::make_unique<Start>();
  node->set_name("start");
  for (const Tensor& y : outputs) {
    node->gradients.push_back(empty(y.shape(), y.dtype()));
    fill(node->gradients.back(), 0.5);
    node->inputs.push_back(y.slot());
  }
  const Tensor loss = with_grad(empty({}));
  node->outputs.push_back(loss.slot());
  tape.record(std::move(node));
  return loss;
}

/// Reads through more memory than any cache holds.
class ColdCaches {
 public:
  void evict() { fill(buffer_, ++turn_); }

 private:
  Tensor buffer_ = empty({std::int64_t{128} << 18});  // 128 MB
  double turn_ = 0;
};

struct Seconds {
  double forward, backward;  ///< medians
};

Seconds measure(const OpCase& op_case, DType compute, std::int64_t runs, ColdCaches& caches) {
  const std::vector<Tensor> inputs = make_inputs(op_case, compute);
  std::vector<double> forward, backward;
  for (std::int64_t run = -1; run < runs; ++run) {  // the first one is not counted
    Tape tape;
    caches.evict();
    double start = seconds_now();
    std::vector<Tensor> outputs = op_case.call(inputs);
    const double forward_seconds = seconds_now() - start;
    const Tensor loss = record_start(tape, outputs);
    outputs.clear();
    caches.evict();
    start = seconds_now();
    tape.backward(loss);
    const double backward_seconds = seconds_now() - start;
    for (const Tensor& t : inputs)
      if (t.wants_grad()) t.slot()->value = {}, t.slot()->written = false;
    if (run < 0) continue;
    forward.push_back(forward_seconds);
    backward.push_back(backward_seconds);
  }
  return {median(forward), median(backward)};
}

/// What this core does at best, a second.
struct Best {
  double flops, bytes;
};

/// "   12.3    105.2 GFLOP/s   95%", or that there is nothing to time.
std::string describe(const Work& work, double seconds, const Best& best) {
  if (work.nothing()) return fmt::format("{:>31}", "moves nothing");
  const bool product = work.flops > 0;
  const double rate = (product ? work.flops : work.bytes) / seconds;
  return fmt::format("{:>9.3f} {:>8.1f} {:<7} {:>4.0f}%", seconds * 1e3, rate / 1e9,
                     product ? "GFLOP/s" : "GB/s",
                     100 * rate / (product ? best.flops : best.bytes));
}

void check_name(const std::string& wanted) {
  std::vector<std::string> names;
  for (const OpEntry* op : op_table()) names.push_back(op->name());
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return;
  const std::string near = nearest_name(wanted, names);
  fail(ErrorKind::usage, "op {} is not known; {}", wanted,
       near.empty() ? "bench ops without --op lists them all"
                    : fmt::format("did you mean {}?", near));
}

}  // namespace

void bench_ops(const Arguments& arguments) {
  const auto flags = make_flags(
      "bench ops", "Times every op, forward and backward, on one thread, in fp32 and bf16.");
  std::string preset = "gpt256", wanted;
  std::int64_t runs = 5;
  flags->add_option("--preset", preset, "whose sizes: small, mid, gpt64, gpt256 (default)")
      ->type_name("NAME");
  flags->add_option("--op", wanted, "only this one")->type_name("NAME");
  add_number(*flags, "--runs", "N", runs, "runs whose median counts");
  if (const std::string help = parse(*flags, arguments); !help.empty()) return print(help);
  if (runs < 1) fail(ErrorKind::usage, "--runs must be at least 1");
  if (!wanted.empty()) check_name(wanted);
  const BenchPreset& sizes = find_preset(preset);

  cpu::set_threads(1);
  const double memory = measure_memory_bandwidth();
  const Best wide{measure_peak_flops(DType::f32), memory};
  const Best narrow{measure_peak_flops(DType::bf16), memory};
  print(fmt::format(
      "best of this core: {:.0f} GFLOP/s in fp32, {:.0f} in bf16; {:.1f} GB/s through memory\n",
      wide.flops / 1e9, narrow.flops / 1e9, memory / 1e9));
  print(fmt::format("{:<18} {:<32} {:>5} {:>9} {:>16} {:>5} {:>9} {:>16} {:>5}\n", "op", "inputs",
                    "type", "ms", "forward", "best", "ms", "backward", "best"));
  ColdCaches caches;
  const auto cases = op_cases(sizes, DType::f32), narrow_cases = op_cases(sizes, DType::bf16);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!wanted.empty() && cases[i].op != wanted) continue;
    for (DType compute : {DType::f32, DType::bf16}) {
      const OpCase& c = compute == DType::f32 ? cases[i] : narrow_cases[i];
      const Best& best = compute == DType::f32 ? wide : narrow;
      const Seconds seconds = measure(c, compute, runs, caches);
      print(fmt::format("{:<18} {:<32} {:>5} {} {}\n", c.op, c.shapes(), name_of(compute),
                        describe(c.forward, seconds.forward, best),
                        describe(c.backward, seconds.backward, best)));
    }
  }
  for (const std::string& name : unmeasured_ops(cases))
    print(fmt::format("{:<18} not measured: it has no line in tools/bench/op_cases.cpp\n", name));
}

}  // namespace skep
