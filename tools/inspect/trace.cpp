#include "tools/inspect/trace.h"

#include <map>

#include "engine/autograd/tape.h"
#include "train/loss/objective.h"

namespace skep {
namespace {

std::map<std::string, std::int64_t> count_parameters(LanguageModel& model) {
  std::map<std::string, std::int64_t> counts;
  model.visit([&](Module& module) {
    for (const Parameter* parameter : module.parameters())
      counts[module.path()] += parameter->shape.numel();
  });
  return counts;
}

}  // namespace

Trace trace_forward(Subject& subject) {
  Trace trace;
  LanguageModel& model = *subject.model;
  auto counts = count_parameters(model);
  auto probe = std::make_shared<Probe>();
  probe->forward = [&](const std::string& path, const Tensor&, const Tensor& out) {
    trace.calls.push_back({path, out.shape(), counts[path]});
  };
  {
    Tape tape;  // what training records: its loss never holds all logits
    make_next_token()->loss(model, subject.batch, Pass{Pass::Mode::train});
    trace.ops = static_cast<std::int64_t>(tape.nodes().size());
    trace.graph = tape.to_string();
  }
  model.attach(probe);
  const NoGrad pause;
  model(tensor_of(subject.batch.inputs, {subject.batch.B, subject.batch.T}), Pass{});
  return trace;
}

}  // namespace skep
