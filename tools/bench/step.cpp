// bench step: median seconds of a training step, tokens a second, share of this core's peak.
#include "engine/backends/cpu/threads.h"
#include "tools/bench/commands.h"
#include "tools/bench/training_step.h"
#include "tools/common/print.h"
#include "train/observe/peak.h"

namespace skep {

void bench_step(const Arguments& arguments) {
  const auto flags = make_flags(
      "bench step", "Times whole training steps of GPT-2 on one thread, in fp32 and bf16.");
  std::string wanted;
  std::int64_t runs = 7;
  flags->add_option("--preset", wanted, "only this one: small, mid, gpt64, gpt256")
      ->type_name("NAME");
  add_number(*flags, "--runs", "N", runs, "steps whose median counts");
  if (const std::string help = parse(*flags, arguments); !help.empty()) return print(help);
  if (runs < 1) fail(ErrorKind::usage, "--runs must be at least 1");
  if (!wanted.empty()) find_preset(wanted);

  cpu::set_threads(1);
  const double peak = measure_peak_flops(DType::f32), peak_narrow = measure_peak_flops(DType::bf16);
  print(fmt::format("best product of this core: {:.0f} GFLOP/s in fp32, {:.0f} in bf16\n",
                    peak / 1e9, peak_narrow / 1e9));
  print(fmt::format("{:<8} {:>5} {:>4} {:>6} {:>10} {:>12} {:>10} {:>8}\n", "preset", "type", "B",
                    "T", "ms/step", "tokens/s", "GFLOP/s", "of peak"));
  for (const BenchPreset& preset : bench_presets()) {
    if (!wanted.empty() && preset.name != wanted) continue;
    for (DType compute : {DType::f32, DType::bf16}) {
      TrainingStep step(preset, compute);
      const double seconds = median(time_runs(2, static_cast<int>(runs), [&] { step.run(); }));
      print(fmt::format(
          "{:<8} {:>5} {:>4} {:>6} {:>10.1f} {:>12.0f} {:>10.0f} {:>7.0f}%\n", preset.name,
          name_of(compute), preset.batch, preset.tokens, seconds * 1e3,
          static_cast<double>(preset.batch * preset.tokens) / seconds, step.flops() / seconds / 1e9,
          100 * step.flops() / seconds / (compute == DType::bf16 ? peak_narrow : peak)));
    }
  }
}

}  // namespace skep
