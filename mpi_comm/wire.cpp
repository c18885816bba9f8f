#include "mpi_comm/wire.h"

#include <array>

namespace skep {
namespace {

struct Entry {
  std::size_t bytes;
  std::string_view name;
};
constexpr std::array<Entry, 5> table{{{4, "f32"}, {8, "f64"}, {4, "i32"}, {8, "i64"}, {1, "u8"}}};

}  // namespace

std::size_t size_of(WireType type) { return table[static_cast<std::size_t>(type)].bytes; }
std::string_view name_of(WireType type) { return table[static_cast<std::size_t>(type)].name; }

}  // namespace skep
