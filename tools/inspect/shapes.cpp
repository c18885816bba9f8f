// inspect shapes, inspect graph.
#include "tools/common/print.h"
#include "tools/inspect/commands.h"
#include "tools/inspect/trace.h"

namespace skep {

void inspect_shapes(const Arguments& arguments) {
  Subject subject = open_subject("inspect shapes",
                                 "Sends one micro-batch through a model and prints a line per "
                                 "module call: path, output shape, parameters at or below it.",
                                 arguments);
  if (!subject.model) return print(subject.help);
  const Trace trace = trace_forward(subject);
  std::string text;
  for (const ModuleCall& call : trace.calls)
    text += fmt::format("{:<32} {:<20} {:>12}\n", call.path.empty() ? "model" : call.path, call.out,
                        call.parameters);
  const std::int64_t parameters = subject.parameters->parameter_count();
  const auto bytes = parameters * static_cast<std::int64_t>(size_of(DType::f32));
  print(text + fmt::format("total {} parameters, {} bytes in fp32; {} ops on the tape\n",
                           parameters, bytes, trace.ops));
}

void inspect_graph(const Arguments& arguments) {
  Subject subject = open_subject(
      "inspect graph",
      "Prints the tape of one training step's forward pass: number, op, input and output shapes.",
      arguments);
  print(subject.model ? trace_forward(subject).graph : subject.help);
}

}  // namespace skep
