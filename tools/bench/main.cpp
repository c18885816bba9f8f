// bench: how fast the engine is, beside what this machine can do and beside a peer.
#include <string_view>

#include "tools/bench/commands.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "comm") return skep::bench_comm(argc, argv);
  const std::vector<skep::Command> commands = {
      {"comm", "collectives under mpirun, beside MPI's own", {}},  // above
      {"step", "whole training steps of preset sizes on one core", skep::bench_step},
      {"ops", "every op, forward and backward, beside what it is bound by", skep::bench_ops},
      {"codecs", "encoding and decoding gradients, and the bytes left", skep::bench_codecs},
      {"peers", "the same steps beside PyTorch, in turn", skep::bench_peers},
  };
  return skep::run_tool("bench", argc, argv, [&](const skep::Arguments& arguments) {
    skep::run_command(
        "bench",
        "Measures ops, training steps and collectives: medians, to be run on a quiet machine.",
        commands, arguments);
  });
}
