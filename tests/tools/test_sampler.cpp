// Sampling against closed forms: probabilities by hand, counts of draws by chi-square.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "tests/train/helpers.h"
#include "tools/generate/sampler.h"

using namespace skep;

namespace {

// Logits of the probabilities 0.1, 0.4, 0.2, 0.3 (ids 0 to 3).
const std::vector<float> logits = {std::log(0.1F), std::log(0.4F), std::log(0.2F), std::log(0.3F)};

std::vector<std::int32_t> ids_of(const std::vector<Candidate>& list) {
  std::vector<std::int32_t> ids;
  for (const Candidate& candidate : list) ids.push_back(candidate.id);
  return ids;
}

using Ids = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("sampling: without limits the candidates are the softmax") {
  const auto list = candidates(logits, {});
  CHECK(ids_of(list) == Ids{1, 3, 2, 0});
  const double expected[] = {0.4, 0.3, 0.2, 0.1};
  for (int i = 0; i < 4; ++i) CHECK(list[i].probability == Approx(expected[i]).epsilon(1e-6));
}

TEST_CASE("sampling: temperature divides the logits") {
  // At 1/2 probabilities are squared: 0.16 : 0.09 : 0.04 : 0.01, in all 0.30.
  const auto list = candidates(logits, {.temperature = 0.5});
  CHECK(list[0].probability == Approx(0.16 / 0.30).epsilon(1e-6));
  CHECK(list[3].probability == Approx(0.01 / 0.30).epsilon(1e-6));
  // So small a temperature that every difference overflows leaves the likeliest alone.
  const auto cold = candidates(logits, {.temperature = 1e-300});
  CHECK(cold[0].id == 1);
  CHECK(cold[0].probability == 1);
}

TEST_CASE("sampling: top-k keeps the k likeliest") {
  const auto list = candidates(logits, {.top_k = 2});
  CHECK(ids_of(list) == Ids{1, 3});
  CHECK(list[0].probability == Approx(4.0 / 7).epsilon(1e-6));
  CHECK(ids_of(candidates(logits, {.top_k = 9})) == Ids{1, 3, 2, 0});
}

TEST_CASE("sampling: top-p keeps the fewest that reach p, at least one") {
  CHECK(ids_of(candidates(logits, {.top_p = 1e-9})) == Ids{1});
  CHECK(ids_of(candidates(logits, {.top_p = 0.39})) == Ids{1});
  CHECK(ids_of(candidates(logits, {.top_p = 0.41})) == Ids{1, 3});
  CHECK(ids_of(candidates(logits, {.top_p = 0.69})) == Ids{1, 3});
  CHECK(ids_of(candidates(logits, {.top_p = 0.71})) == Ids{1, 3, 2});
  CHECK(ids_of(candidates(logits, {.top_p = 0.95})) == Ids{1, 3, 2, 0});
  // Exactly half: four equal tokens, two reach 0.5.
  CHECK(ids_of(candidates(std::vector<float>(4, 1.5F), {.top_p = 0.5})) == Ids{0, 1});
}

TEST_CASE("sampling: top-k comes before top-p") {
  // Of the two likeliest, 4/7 = 0.571 is the first's share.
  CHECK(ids_of(candidates(logits, {.top_k = 2, .top_p = 0.57})) == Ids{1});
  CHECK(ids_of(candidates(logits, {.top_k = 2, .top_p = 0.58})) == Ids{1, 3});
}

TEST_CASE("sampling: of equal logits the lower id goes first") {
  const std::vector<float> equal = {0.0F, 2.0F, 2.0F, 2.0F};
  CHECK(ids_of(candidates(equal, {.temperature = 0})) == Ids{1});
  CHECK(ids_of(candidates(equal, {.top_k = 2})) == Ids{1, 2});
}

TEST_CASE("sampling: temperature 0 ignores the seed and the limits") {
  for (std::int64_t seed = 0; seed < 20; ++seed)
    CHECK(sample(logits, {.temperature = 0, .top_k = 3, .top_p = 0.9, .seed = seed}, 7) == 1);
}

TEST_CASE("sampling: huge logits neither overflow nor vanish") {
  const std::vector<float> huge = {3e38F, 3e38F, -3e38F};
  const auto list = candidates(huge, {});
  CHECK(list[0].probability == 0.5);
  CHECK(list[1].probability == 0.5);
  CHECK(list[2].probability == 0);
}

TEST_CASE("sampling: the cumulative distribution is walked from the likeliest") {
  const std::vector<Candidate> list = {{5, 0.5}, {2, 0.25}, {9, 0.25}};
  CHECK(pick(list, 0.0) == 5);
  CHECK(pick(list, 0.499) == 5);
  CHECK(pick(list, 0.5) == 2);
  CHECK(pick(list, 0.749) == 2);
  CHECK(pick(list, 0.75) == 9);
  const std::vector<Candidate> short_of_one = {{5, 0.5}, {2, 0.4999999}};
  CHECK(pick(short_of_one, 0.99999999) == 2);
}

TEST_CASE("sampling: many draws follow the distribution") {
  constexpr int draws = 20000;
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[sample(logits, {.seed = 11}, i)];
  const double expected[] = {0.1, 0.4, 0.2, 0.3};
  double chi_square = 0;
  for (int id = 0; id < 4; ++id) {
    const double mean = draws * expected[id];
    chi_square += (counts[id] - mean) * (counts[id] - mean) / mean;
  }
  CHECK(chi_square < 16.27);  // 3 degrees of freedom, 99.9 %
  CHECK(chi_square > 0.024);  // 0.1 %: random, not spread out evenly
}

TEST_CASE("sampling: a draw is a function of seed and index") {
  std::vector<std::int32_t> first, second, other;
  for (int i = 0; i < 40; ++i) {
    first.push_back(sample(logits, {.seed = 3}, i));
    second.push_back(sample(logits, {.seed = 3}, i));
    other.push_back(sample(logits, {.seed = 4}, i));
  }
  CHECK(first == second);
  CHECK(first != other);
}

TEST_CASE("sampling: a logit that is no number is an error, with its token") {
  std::vector<float> broken = logits;
  broken[2] = std::numeric_limits<float>::quiet_NaN();
  for (const double temperature : {0.0, 1.0})
    CHECK_THAT(
        error_of(ErrorKind::non_finite, [&] { candidates(broken, {.temperature = temperature}); }),
        Catch::Contains("token 2") && Catch::Contains("nan"));
}

TEST_CASE("sampling: settings that make no sense are refused") {
  const auto refused = [](const Sampling& sampling) {
    return error_of(ErrorKind::usage, [&] { check_sampling(sampling); });
  };
  CHECK_THAT(refused({.temperature = -0.1}), Catch::Contains("--temperature"));
  CHECK_THAT(refused({.temperature = std::nan("")}), Catch::Contains("--temperature"));
  CHECK_THAT(refused({.temperature = std::numeric_limits<double>::infinity()}),
             Catch::Contains("--temperature"));
  CHECK_THAT(refused({.top_k = -1}), Catch::Contains("--top-k"));
  for (const double p : {0.0, -0.5, 1.01, std::nan("")})
    CHECK_THAT(refused({.top_p = p}), Catch::Contains("--top-p"));
  CHECK_NOTHROW(check_sampling({.temperature = 0, .top_k = 0, .top_p = 1}));
}
