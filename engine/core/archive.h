#pragma once
// One archive() per stateful part serves saving and loading: the part names its fields, the
// archive reads or writes them. Field names are unique within a part; parts nest by name.
#include <cstdint>
#include <string_view>

#include "engine/core/tensor.h"

namespace skep {

class Archive {
 public:
  virtual ~Archive() = default;
  virtual void field(std::string_view name, std::int64_t& value) = 0;
  virtual void field(std::string_view name, double& value) = 0;
  /// Shape and type stay as they are; only the elements travel. An archive that saves may read them
  /// later, until whoever made it is done: till then they stay as they are.
  virtual void field(std::string_view name, const Tensor& tensor) = 0;
};

}  // namespace skep
