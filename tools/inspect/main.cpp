// inspect: looks into the engine, a model and a collective.
#include "tools/inspect/commands.h"

int main(int argc, char** argv) {
  const std::vector<skep::Command> commands = {
      {"gradcheck", "checks the gradient of every op in fp64", skep::inspect_gradcheck},
      {"gpu", "compares every op on the GPU with fp64 on the CPU", skep::inspect_gpu},
      {"shapes", "one line per module call: path, output shape, parameters", skep::inspect_shapes},
      {"comm", "who sends what to whom in a collective, in words and pictures", skep::inspect_comm},
      {"graph", "one line per op of a training step, as the tape records them",
       skep::inspect_graph},
      {"flight", "the first collective in which the ranks of a run that failed differ",
       skep::inspect_flight},
  };
  return skep::run_tool("inspect", argc, argv, [&](const skep::Arguments& arguments) {
    skep::run_command("inspect", "Looks into the engine, a model and a collective.", commands,
                      arguments);
  });
}
