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
  auto counts = count_parameters(*subject.model);
  auto probe = std::make_shared<Probe>();
  probe->forward = [&](const std::string& path, const Tensor&, const Tensor& out) {
    trace.calls.push_back({path, out.shape(), counts[path]});
  };
  subject.model->attach(probe);
  Tape tape;
  make_next_token()->loss(*subject.model, subject.batch, Pass{Pass::Mode::train});
  trace.ops = static_cast<std::int64_t>(tape.nodes().size());
  trace.graph = tape.to_string();
  return trace;
}

}  // namespace skep
