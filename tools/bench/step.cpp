// bench step: median seconds of a training step, tokens a second, share of the best product's speed
// on the same core or GPU.
#include "engine/backends/backend.h"
#include "engine/backends/cpu/threads.h"
#include "engine/backends/devices.h"
#include "tools/bench/commands.h"
#include "tools/bench/training_step.h"
#include "tools/common/print.h"
#include "train/device.h"
#include "train/observe/peak.h"

namespace skep {
namespace {

/// peak: of products in that type, multiplications and additions a second.
void time_step(const BenchPreset& preset, DType compute, double peak, Device device, int runs) {
  backend(device).reset_peak();
  TrainingStep step(preset, compute, device);
  const double seconds = median(time_runs(2, runs, [&] { step.run(); }));
  const double flops = step.flops() / seconds;
  print(fmt::format("{:<8} {:>5} {:>4} {:>6} {:>10.1f} {:>12.0f} {:>10.0f} {:>7.0f}% {:>8.0f}\n",
                    preset.name, name_of(compute), preset.batch, preset.tokens, seconds * 1e3,
                    static_cast<double>(preset.batch * preset.tokens) / seconds, flops / 1e9,
                    100 * flops / peak, static_cast<double>(backend(device).memory().peak) / 1e6));
}

}  // namespace

void bench_step(const Arguments& arguments) {
  const auto flags = make_flags(
      "bench step",
      "Times whole training steps of GPT-2, in fp32 and bf16, on one thread or one GPU. MB: most "
      "memory of all tensors at a time.");
  std::string wanted, kind = "cpu";
  std::int64_t runs = 7;
  flags->add_option("--preset", wanted, "only this one: small, mid, gpt64, gpt256, gpt1024")
      ->type_name("NAME");
  flags->add_option("--device", kind, "cpu (the default), or cuda")->type_name("KIND");
  add_number(*flags, "--runs", "N", runs, "steps whose median counts");
  if (const std::string help = parse(*flags, arguments); !help.empty()) return print(help);
  if (runs < 1) fail(ErrorKind::usage, "--runs must be at least 1");
  if (kind != "cpu" && kind != "cuda")
    fail(ErrorKind::usage, "--device must be cpu or cuda, not {}", kind);
  if (!wanted.empty()) find_preset(wanted);

  const Device device = choose_device(kind, {}).device;
  cpu::set_threads(1);
  if (device.kind == Device::Kind::cuda) print(describe_gpu(device.index) + "\n");
  const double wide = measure_peak_flops(DType::f32, device),
               narrow = measure_peak_flops(DType::bf16, device);
  print(fmt::format("best product: {:.0f} GFLOP/s in fp32, {:.0f} in bf16\n", wide / 1e9,
                    narrow / 1e9));
  print(fmt::format("{:<8} {:>5} {:>4} {:>6} {:>10} {:>12} {:>10} {:>8} {:>8}\n", "preset", "type",
                    "B", "T", "ms/step", "tokens/s", "GFLOP/s", "of best", "MB"));
  for (const BenchPreset& preset : chosen_presets(wanted, device)) {
    time_step(preset, DType::f32, wide, device, static_cast<int>(runs));
    time_step(preset, DType::bf16, narrow, device, static_cast<int>(runs));
  }
}

}  // namespace skep
