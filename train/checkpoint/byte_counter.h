#pragma once
// Adds up the bytes of the tensors that a part would save.
#include "engine/core/archive.h"

namespace skep {

class ByteCounter final : public Archive {
 public:
  void field(std::string_view, std::int64_t&) override {}
  void field(std::string_view, double&) override {}
  void field(std::string_view, const Tensor& tensor) override {
    bytes += static_cast<double>(tensor.bytes());
  }
  double bytes = 0;
};

}  // namespace skep
