// Fingerprints: what they compare and how a disagreement reads.
#include "mpi_comm/fingerprint.h"

#include <catch2/catch.hpp>
#include <vector>

#include "mpi_comm/topology.h"

using namespace skep;

namespace {

Fingerprint all_reduce_by(int rank) {
  static std::vector<float> data(10);
  const Plan plan =
      make_topology("ring")->all_reduce({.rank = rank, .size = 4, .seed = 1, .step = 9}, 10);
  return fingerprint_of(plan, data, Combine::sum, 812, rank);
}

}  // namespace

TEST_CASE("fingerprint: equal calls fit, whoever makes them", "[fingerprint]") {
  CHECK(fit(all_reduce_by(0), all_reduce_by(3)));
}

TEST_CASE("fingerprint: each field is compared", "[fingerprint]") {
  const auto differs = [](auto change) {
    Fingerprint other = all_reduce_by(1);
    change(other);
    return !fit(all_reduce_by(0), other);
  };
  CHECK(differs([](Fingerprint& f) { ++f.sequence; }));
  CHECK(differs([](Fingerprint& f) { ++f.count; }));
  CHECK(differs([](Fingerprint& f) { ++f.step; }));
  CHECK(differs([](Fingerprint& f) { f.root = 0; }));
  CHECK(differs([](Fingerprint& f) { f.group = hash_of_group(std::vector<int>{0, 1, 2}); }));
  CHECK(differs([](Fingerprint& f) { f.type = WireType::i32; }));
  CHECK(differs([](Fingerprint& f) { f.how = Combine::max; }));
  CHECK(differs([](Fingerprint& f) { f.operation = std::string_view("all_gather"); }));
  CHECK(differs([](Fingerprint& f) { f.topology = std::string_view("tree"); }));
}

TEST_CASE("fingerprint: the order of a group matters", "[fingerprint]") {
  CHECK(hash_of_group(std::vector<int>{0, 1}) != hash_of_group(std::vector<int>{1, 0}));
}

TEST_CASE("fingerprint: a disagreement shows all sides", "[fingerprint]") {
  Fingerprint wrong = all_reduce_by(1);
  wrong.operation = std::string_view("broadcast");
  wrong.root = 2;
  CHECK(
      describe_mismatch(std::vector{wrong, all_reduce_by(3), all_reduce_by(0)}) ==
      "the ranks disagree about collective #812: ranks 0,3 start all_reduce of 10 f32 (sum, ring, "
      "step 9), rank 1 starts broadcast of 10 f32 from rank 2 (ring, step 9); all must make the "
      "same calls in the same order");
  Fingerprint elsewhere = all_reduce_by(1);
  elsewhere.group = 0;
  CHECK(
      describe_mismatch(std::vector{all_reduce_by(0), elsewhere}) ==
      "the ranks disagree about collective #812: rank 0 starts all_reduce of 10 f32 (sum, ring, "
      "step 9), rank 1 starts all_reduce of 10 f32 (sum, ring, step 9) in another group; all must "
      "make the same calls in the same order");
}

TEST_CASE("fingerprint: text longer than its place is cut off", "[fingerprint]") {
  CHECK(ShortText<4>("abc").view() == "abc");
  CHECK(ShortText<4>("abcdef").view() == "abcd");
  CHECK(ShortText<8>("in ", "the meadow").view() == "in the m");
}
