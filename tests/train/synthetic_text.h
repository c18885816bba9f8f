#pragma once
// Text for tests: sentences from a small vocabulary, a function of the seed. Regular enough that a
// tiny model learns it, long enough for several epochs.
#include <array>
#include <string>

#include "engine/core/random.h"

namespace skep::test {

inline std::string synthetic_text(std::size_t characters, std::uint64_t seed = 1) {
  static constexpr std::array<const char*, 4> who{"the bee", "a queen", "one drone", "the swarm"};
  static constexpr std::array<const char*, 4> does{"finds", "carries", "guards", "makes"};
  static constexpr std::array<const char*, 4> what{"honey", "the comb", "pollen", "a new hive"};
  std::string text;
  for (std::uint64_t i = 0; text.size() < characters; ++i) {
    const std::uint64_t bits = random_bits(seed, i);
    text +=
        std::string(who[bits % 4]) + " " + does[bits / 4 % 4] + " " + what[bits / 16 % 4] + ".\n";
  }
  text.resize(characters);
  return text;
}

}  // namespace skep::test
