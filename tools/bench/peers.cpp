// bench peers: our step and PyTorch's in turn, the same shapes and types, the ratio of medians. The
// peer is tools/bench/pytorch_step.py, run by a Python that has PyTorch.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "engine/backends/cpu/threads.h"
#include "engine/core/error.h"
#include "tools/bench/commands.h"
#include "tools/bench/training_step.h"
#include "tools/common/print.h"

namespace skep {
namespace {

// What makes a fair peer: one thread, memory kept, no wish left over for another library.
constexpr const char* fair_settings =
    "env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE MALLOC_MMAP_THRESHOLD_=8589934592 "
    "MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456 OMP_NUM_THREADS=1 ";

void check_peer(const std::string& python, const std::string& script) {
  if (!std::filesystem::is_regular_file(script))
    fail(ErrorKind::usage, "--script {} is no file", script);
  const std::string command = fmt::format("'{}' -c 'import torch' 2>/dev/null", python);
  if (std::system(command.c_str()) != 0)
    fail(ErrorKind::usage, "--python {} does not start, or cannot import torch", python);
}

/// The median seconds the peer prints.
double peer_seconds(const std::string& python, const std::string& script, const BenchPreset& p,
                    const std::string& mode, DType compute, std::int64_t runs) {
  const std::string command = fmt::format(
      "{}'{}' '{}' {} {} {} {} {} {} {} {} {}", fair_settings, python, script, mode, p.layers,
      p.heads, p.width, p.padded_vocab, p.batch, p.tokens, runs, name_of(compute));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) fail(ErrorKind::usage, "cannot start {}", python);
  std::array<char, 256> line{};
  double seconds = 0;
  while (std::fgets(line.data(), line.size(), pipe.get()))
    std::sscanf(line.data(), "seconds %lf", &seconds);
  if (!(seconds > 0))
    fail(ErrorKind::usage, "{} {} gave no time: what it printed stands above", python, script);
  return seconds;
}

}  // namespace

void bench_peers(const Arguments& arguments) {
  const auto flags = make_flags(
      "bench peers", "Times our training step and PyTorch's in turn, fp32 and bf16, one thread.");
  std::string python, script = SKEP_PEER_SCRIPT, wanted;
  std::int64_t runs = 5, rounds = 3;
  flags->add_option("--python", python, "a Python that has torch")->type_name("PATH")->required();
  flags->add_option("--script", script, "the peer's step")->type_name("PATH");
  flags->add_option("--preset", wanted, "only this one: small, mid, gpt64, gpt256")
      ->type_name("NAME");
  add_number(*flags, "--runs", "N", runs, "steps in a row whose median counts");
  add_number(*flags, "--rounds", "N", rounds, "times each takes its turn");
  if (const std::string help = parse(*flags, arguments); !help.empty()) return print(help);
  if (!wanted.empty()) find_preset(wanted);
  check_peer(python, script);

  cpu::set_threads(1);
  print(fmt::format("{:<8} {:>5} {:>10} {:>12} {:>14} {:>14}\n", "preset", "type", "ours ms",
                    "eager ms", "compiled ms", "best / ours"));
  for (const BenchPreset& preset : chosen_presets(wanted)) {
    for (DType compute : {DType::f32, DType::bf16}) {
      std::vector<double> ours, eager, compiled;
      for (std::int64_t round = 0; round < rounds; ++round) {
        TrainingStep step(preset, compute);
        ours.push_back(median(time_runs(2, static_cast<int>(runs), [&] { step.run(); })));
        eager.push_back(peer_seconds(python, script, preset, "eager", compute, runs));
        compiled.push_back(peer_seconds(python, script, preset, "compile", compute, runs));
      }
      const double best = std::min(median(eager), median(compiled));
      print(fmt::format("{:<8} {:>5} {:>10.1f} {:>12.1f} {:>14.1f} {:>14.2f}\n", preset.name,
                        name_of(compute), median(ours) * 1e3, median(eager) * 1e3,
                        median(compiled) * 1e3, best / median(ours)));
    }
  }
}

}  // namespace skep
