#pragma once
// Which parts of a flat block that a GPU works on are also on the host.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/backends/crossing.h"

namespace skep {

/// The gradients that the host has, or will have when their crossing is done, by their place in the
/// block.
class HostParts {
 public:
  struct Part {
    std::int64_t begin, end;
    std::shared_ptr<Crossing> crossing;
  };
  const std::vector<Part>& parts() const { return parts_; }
  void clear() { parts_.clear(); }
  void add(Part part) { parts_.push_back(std::move(part)); }
  void remove(std::int64_t begin, std::int64_t end) {
    std::erase_if(parts_, [&](const Part& p) { return begin <= p.begin && p.end <= end; });
  }
  /// The part that has all of this; null when none has.
  const Part* having(std::int64_t begin, std::int64_t end) const {
    for (const Part& part : parts_)
      if (part.begin <= begin && end <= part.end) return &part;
    return nullptr;
  }

 private:
  std::vector<Part> parts_;
};

}  // namespace skep
