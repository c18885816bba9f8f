#pragma once
// What the ranks of a group must agree on when they start a collective, in a fixed size, so that it
// can be sent along with each one. MPI itself notices few disagreements: doubles that meet floats
// give garbage and success.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mpi_comm/combine.h"
#include "mpi_comm/plan.h"
#include "mpi_comm/plan_buffer.h"
#include "mpi_comm/wire.h"

namespace skep {

/// Short text inside a struct that is copied as bytes; what does not fit is cut off.
template <std::size_t size>
struct ShortText {
  std::array<char, size> characters{};

  ShortText() = default;
  ShortText(std::string_view text) { append(text, 0); }
  ShortText(std::string_view first, std::string_view second) { append(second, append(first, 0)); }
  std::string_view view() const {
    const std::string_view all(characters.data(), size);
    return all.substr(0, all.find('\0'));
  }
  bool operator==(const ShortText&) const = default;

 private:
  std::size_t append(std::string_view text, std::size_t at) {
    return at + text.copy(characters.data() + at, size - at);
  }
};

struct Fingerprint {
  std::uint64_t sequence = 0;  ///< collectives this rank started before
  std::uint64_t count = 0;     ///< elements of the buffer; 0 where they may differ
  std::int64_t step = 0;
  std::int32_t rank = 0;    ///< whose it is; the one field that differs
  std::int32_t root = -1;   ///< of a broadcast
  std::uint32_t group = 0;  ///< hash of the ranks that take part
  WireType type = WireType::u8;
  Combine how = Combine::sum;
  ShortText<16> operation;
  ShortText<20> topology;

  bool operator==(const Fingerprint&) const = default;
};

/// Of a rank that starts this plan on `buffer`, after `sequence` others.
Fingerprint fingerprint_of(const Plan& plan, const PlanBuffer& buffer, Combine how,
                           std::uint64_t sequence, int rank);

std::uint32_t hash_of_group(std::span<const int> ranks);

/// Whether the two are calls of one and the same collective.
bool fit(const Fingerprint& a, const Fingerprint& b);

/// `all_reduce of 100 f32 (sum, ring, step 5)`.
std::string to_string(const Fingerprint& print);

/// One line with all sides of a disagreement; `prints` are of one sequence number.
std::string describe_mismatch(std::span<const Fingerprint> prints);

}  // namespace skep
