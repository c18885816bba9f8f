#include "train/observe/metrics.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace skep {
namespace {

using Json = nlohmann::ordered_json;

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

}  // namespace

Json step_fields(const StepReport& r) {
  Json json;
  json["step"] = r.step;
  json["epoch"] = r.epoch;
  json["loss"] = number(r.loss);
  json["lr"] = r.lr;
  json["grad_norm"] = number(r.grad_norm);
  json["tokens"] = r.tokens;
  json["updates"] = r.updates;
  json["tokens_per_s"] = r.tokens_per_second;
  json["step_s"] = r.step_seconds;
  json["compute_s"] = r.compute_seconds;
  json["comm_wait_s"] = r.comm_wait_seconds;
  json["loader_wait_s"] = r.loader_wait_seconds;
  json["bytes_sent"] = r.bytes_sent;
  json["topology"] = r.topology;
  json["sync"] = r.sync;
  json["scale"] = r.scale;
  json["skipped"] = r.skipped;
  json["rss_bytes"] = r.rss_bytes;
  json["peak_rss_bytes"] = r.peak_rss_bytes;
  if (r.gpu_bytes > 0) {
    json["gpu_bytes"] = r.gpu_bytes;
    json["peak_gpu_bytes"] = r.peak_gpu_bytes;
  }
  json["cpu_s"] = r.cpu_seconds;
  for (const TaskReport& task : r.tasks) {
    Json& fields = json["tasks"][task.name];
    fields["loss"] = number(task.loss);
    fields["weight"] = number(task.weight);
    if (task.log_variance) fields["log_variance"] = number(*task.log_variance);
  }
  if (!r.view_weights.empty()) json["view_weights"] = r.view_weights;
  for (const Spread& spread : r.over_ranks)
    json["ranks"][spread.name] = {
        {"min", spread.min}, {"median", spread.median}, {"max", spread.max}};
  return json;
}

Json validation_fields(std::int64_t step, double loss) {
  Json json;
  json["step"] = step;
  json["val_loss"] = number(loss);
  return json;
}

}  // namespace skep
