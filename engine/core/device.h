#pragma once
// Where a tensor's bytes are.
namespace skep {

struct Device {
  enum class Kind { cpu, cuda } kind = Kind::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

}  // namespace skep
