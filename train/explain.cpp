#include "train/explain.h"

#include <algorithm>
#include <cstdio>

#include "engine/backends/backend.h"
#include "engine/backends/cpu/gemm.h"

namespace skep {
namespace {

constexpr double head_chunk_rows = 512;  // as the op that joins head and loss has it

double type_bytes(const Parts& parts) {
  // The type products compute in, as the store has bound it.
  for (Parameter* p : parts.model->parameters())
    if (p->shape.rank() == 2) return static_cast<double>(size_of(p->compute.dtype()));
  return 4;
}

// Does the CPU make fp32 copies of what a narrow product reads and writes? The largest has the
// feed-forward layer's inner width on one side.
bool multiplies_wide(const Parts& parts) {
  const DType compute = parts.parameters->compute_type();
  if (parts.device.device.kind != Device::Kind::cpu) return false;
  return compute == DType::f16 || (compute == DType::bf16 && !cpu::has_bf16_products());
}

// What is kept for backward, per token and block: the residual stream twice in fp32 (each norm's
// input); in the compute type both norms' results, query, key and value, the heads' result, the
// hidden layer before and after gelu. Then the head's logits and gradients. Recomputing keeps the
// input of every block and the inside of one, which is gone before the head begins.
double activation_bytes(const Parts& parts, double tokens) {
  const ModelConfig& c = parts.model->config();
  const double narrow = type_bytes(parts), width = static_cast<double>(c.width);
  const double vocab = static_cast<double>(c.vocab), heads = static_cast<double>(c.heads);
  const double block = width * (2 * 4 + 14 * narrow) + 4 * heads;
  const double ends = width * (4 + 2 * narrow);
  const double head = std::min(tokens, head_chunk_rows) * vocab * (narrow == 4 ? 4 : 4 + narrow) +
                      vocab * width * 4;
  const double layers = static_cast<double>(c.layers);
  const double copies = multiplies_wide(parts) ? 4 * width * (tokens * 5 + width * 4) : 0;
  if (parts.activations == Pass::Activations::recompute)
    return tokens * (layers * width * 4 + ends) + std::max(head, tokens * block) + copies;
  return tokens * (layers * block + ends) + head + copies;
}

// Each weight multiplies each token once forward and twice backward. Attention multiplies every
// panel of 64 queries with the keys it may see: twice forward, five times backward. Recomputing
// goes forward through the blocks once more.
double product_flops(const Parts& parts, double sequences) {
  const ModelConfig& c = parts.model->config();
  const double width = static_cast<double>(c.width), time = static_cast<double>(c.context);
  const double layers = static_cast<double>(c.layers);
  const double again = parts.activations == Pass::Activations::recompute ? 1 : 0;
  const double weights =
      (3 + again) * layers * 12 * width * width + 3 * static_cast<double>(c.vocab) * width;
  double seen = 0;  // keys in all panels, weighted by their queries
  for (double i = 0; i < time; i += 64) seen += std::min(64.0, time - i) * std::min(time, i + 64);
  return sequences * 2 * (weights * time + (7 + 2 * again) * layers * width * seen);
}

std::string row(std::string_view what, double amount, double unit, std::string_view name) {
  return fmt::format("  {:<28} {:>12.3f} {}", what, amount / unit, name);
}

class Explainer final : public Observer {
 public:
  explicit Explainer(const Parts& parts)
      : device_(parts.device.device),
        traffic_(parts.comm.traffic()),
        predicted_(predict_step_costs(parts)) {
    std::fputs(describe_parameters(*parts.parameters).c_str(), stdout);
    std::fputs(("one step on this rank, predicted:\n" + rows(predicted_)).c_str(), stdout);
    backend(device_).reset_peak();
    resident_ = static_cast<double>(backend(device_).memory().in_use);
    flops_ = backend(device_).product_flops();
  }
  void on_step(const StepReport&) override {
    if (done_) return;
    done_ = true;
    StepCosts measured;
    measured.activation_bytes = static_cast<double>(backend(device_).memory().peak) - resident_;
    measured.product_flops = backend(device_).product_flops() - flops_;
    measured.bytes_sent = static_cast<double>(traffic_.by_phase()["step"].bytes_sent);
    std::fputs(("one step on this rank, measured:\n" + rows(measured)).c_str(), stdout);
  }
  void on_validation(std::int64_t, double) override {}

 private:
  static std::string rows(const StepCosts& costs) {
    return row("activations and workspace", costs.activation_bytes, 1e6, "MB") + "\n" +
           row("matrix products", costs.product_flops, 1e9, "GFLOP") + "\n" +
           row("sent to other ranks", costs.bytes_sent, 1e6, "MB") + "\n";
  }

  const Device device_;
  const Traffic& traffic_;
  StepCosts predicted_;
  double resident_ = 0, flops_ = 0;
  bool done_ = false;
};

}  // namespace

StepCosts predict_step_costs(const Parts& parts) {
  const BatchSplit& split = parts.loader->split();
  const double context = static_cast<double>(parts.model->config().context);
  const auto elements = [&](std::int64_t count) {
    const Plan plan = parts.phases->at(0).topology->all_reduce(parts.comm.place(),
                                                               static_cast<std::size_t>(count));
    return static_cast<double>(plan.elements_sent());
  };
  StepCosts costs;
  costs.activation_bytes =
      activation_bytes(parts, static_cast<double>(split.micro_batch) * context);
  costs.product_flops =
      product_flops(parts, static_cast<double>(split.micro_batch * split.accumulation));
  costs.bytes_sent =
      4 * elements(parts.parameters->size()) + 8 * elements(2);  // gradients; loss and tokens
  return costs;
}

std::string describe_parameters(const ParameterStore& parameters) {
  std::string text = fmt::format("{:<36} {:>16} {:>12}  at\n", "parameter", "shape", "bytes");
  for (const auto& entry : parameters.list())
    text += fmt::format("{:<36} {:>16} {:>12}  {}\n", entry.path, to_string(entry.shape),
                        entry.value.bytes(), entry.begin);
  return text + fmt::format("{} parameters; with gradients and optimizer about {:.1f} MB\n",
                            parameters.parameter_count(),
                            16e-6 * static_cast<double>(parameters.size()));
}

std::unique_ptr<Observer> make_explainer(const Parts& parts) {
  return std::make_unique<Explainer>(parts);
}

}  // namespace skep
