#include "train/checkpoint/witness.h"

#include <cmath>

#include "engine/autograd/no_grad.h"
#include "engine/backends/cpu/threads.h"
#include "engine/backends/devices.h"
#include "engine/core/error.h"
#include "train/hash.h"
#include "train/placement.h"

namespace skep {
namespace {

std::int64_t machine_hash(Device device) {
  std::string text = fmt::format("{}, {} threads", processor_name(), cpu::threads());
  if (device.kind == Device::Kind::cuda) text += ", " + describe_gpu(device.index);
  return static_cast<std::int64_t>(hash_bytes(std::as_bytes(std::span(text))));
}

}  // namespace

void Witness::archive(Archive& archive) {
  archive.field("witness_sample", sample);
  archive.field("witness_machine", machine);
  archive.field("witness_compute", compute);
  archive.field("witness_loss", loss);
}

Witness call_witness(LanguageModel& model, Objective& objective, const Loader& loader,
                     Device device, std::int64_t sample, DType compute) {
  const NoGrad pause;
  const double loss = objective.loss(model, loader.sample(sample), Pass{}).item();
  // JSON has no infinity; no finite loss is negative.
  return {sample, machine_hash(device), static_cast<std::int64_t>(compute),
          std::isfinite(loss) ? loss : -1};
}

void require_same(const Witness& saved, const Witness& now, const std::string& checkpoint) {
  const auto compute = static_cast<DType>(now.compute);
  const bool wide = compute == DType::f32 || compute == DType::f64;
  const double tolerance = saved.machine == now.machine ? 0 : wide ? 1e-4 : 1e-2;
  if (std::abs(now.loss - saved.loss) <= tolerance * std::abs(saved.loss)) return;
  fail(ErrorKind::storage,
       "{}: restored, the loss of sample {} is {:.9g}, when it was saved it was {:.9g}: what was "
       "read is not what was saved; use an earlier checkpoint",
       checkpoint, now.sample, now.loss, saved.loss);
}

}  // namespace skep
