#pragma once
// Random numbers without a state: which numbers are drawn depends on nothing but the arguments, so
// all ranks draw the same, whatever else each of them has drawn (the standard library's shuffle
// differs between implementations, and a generator would have to be kept in step).
#include <cstdint>

namespace skep {

/// What splitmix64, started at `state`, gives as its number `index`, counted from 0 (Steele, Lea
/// and Flood, OOPSLA 2014).
constexpr std::uint64_t splitmix64(std::uint64_t state, std::uint64_t index) {
  std::uint64_t z = state + (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace skep
