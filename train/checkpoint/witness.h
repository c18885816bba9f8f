#pragma once
// A witness of what was saved: the loss of one training sample under the saved weights, without
// dropout. A run that resumes computes it again; a difference means that the weights, the model or
// the data are not those of the save, whatever the reason, and is better known now than a week
// later.
#include <cstdint>
#include <string>

#include "engine/core/archive.h"
#include "engine/core/device.h"
#include "train/data/loader.h"
#include "train/loss/objective.h"

namespace skep {

struct Witness {
  std::int64_t sample = 0;   ///< global index
  std::int64_t machine = 0;  ///< hash of what may change the last bits: processor, threads, GPU
  std::int64_t compute = 0;  ///< type of the products, a DType
  double loss = 0;

  void archive(Archive& archive);
};

/// One forward pass of one sequence.
Witness call_witness(LanguageModel& model, Objective& objective, const Loader& loader,
                     Device device, std::int64_t sample, DType compute);

/// Compares with a witness called now, with products of the same type: bit for bit on the same
/// machine, within 1e-4 (of products in bf16 or fp16: 1e-2) on another. Error(storage) when they
/// differ, naming the checkpoint.
void require_same(const Witness& saved, const Witness& now, const std::string& checkpoint);

}  // namespace skep
