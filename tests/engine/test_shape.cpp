// Shapes and views against an element-by-element model: what a view shows, and which reshapes need
// no copy.
#include <catch2/catch.hpp>
#include <numeric>
#include <optional>

#include "engine/core/tensor.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

// A small deterministic source of choices.
class Choices {
 public:
  explicit Choices(std::uint64_t key) : key_(key) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_below(key_, next_++, static_cast<std::uint64_t>(n)));
  }

 private:
  std::uint64_t key_, next_ = 0;
};

Tensor counting(const Shape& shape) {
  Values values(shape.numel());
  std::iota(values.begin(), values.end(), 0.0);
  return tensor_of(values, shape);
}

// Offsets of all elements in row-major order: the model that views are held against.
std::vector<std::int64_t> offsets(const Shape& shape, const Strides& strides) {
  std::vector<std::int64_t> all = {0};
  for (int d = 0; d < shape.rank(); ++d) {
    std::vector<std::int64_t> next;
    for (std::int64_t base : all)
      for (std::int64_t i = 0; i < shape[d]; ++i) next.push_back(base + i * strides[d]);
    all = next;
  }
  return all;
}

// Is there any choice of strides that shows these offsets under `shape`? Each dimension's stride is
// forced by the offset of its second element.
bool some_view_exists(const std::vector<std::int64_t>& wanted, const Shape& shape) {
  if (wanted.empty()) return true;
  Strides strides = shape;
  std::int64_t step = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    strides[d] = shape[d] > 1 ? wanted[step] - wanted[0] : 0;
    step *= shape[d];
  }
  std::vector<std::int64_t> shown = offsets(shape, strides);
  for (std::int64_t& o : shown) o += wanted[0];
  return shown == wanted;
}

// Splits n into random factors, with some ones among them.
Shape random_factors(std::int64_t n, Choices& choices) {
  Shape shape;
  while (shape.rank() < 6 && (n > 1 || choices.below(3) == 0)) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t d = 1; d <= n; ++d)
      if (n % d == 0) divisors.push_back(d);
    const std::int64_t d = divisors[choices.below(static_cast<std::int64_t>(divisors.size()))];
    shape.push_back(d);
    n /= d;
  }
  if (n > 1) shape.push_back(n);
  return shape;
}

// A random view: permuted, sliced and expanded.
Tensor random_view(Choices& choices) {
  Shape shape;
  const std::int64_t rank = choices.below(5);
  for (int d = 0; d < rank; ++d) shape.push_back(1 + choices.below(5));
  Tensor t = counting(shape);
  for (int i = 0; i < 3 && rank > 0; ++i) {
    const int dim = static_cast<int>(choices.below(rank));
    const std::int64_t action = choices.below(4), size = t.size(dim);
    if (action == 0) t = t.transposed(dim, static_cast<int>(choices.below(rank)));
    if (action == 1) {
      const std::int64_t begin = choices.below(size);
      t = t.sliced(dim, begin, 1 + choices.below(size - begin));
    }
    if (action == 2 && size == 1) {
      Shape wide = t.shape();
      wide[dim] = 1 + choices.below(3);
      t = t.expanded(wide);
    }
  }
  return t;
}

TEST_CASE("reshaped shows the same elements, and refuses exactly when no strides can") {
  int views = 0, copies = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Choices choices(seed);
    const Tensor t = random_view(choices);
    const Shape target = random_factors(t.numel(), choices);
    const bool possible = some_view_exists(offsets(t.shape(), t.strides()), target);
    INFO("seed " << seed << ": " << to_string(t.shape()) << " strides " << to_string(t.strides())
                 << " to " << to_string(target));
    REQUIRE(t.can_reshape(target) == possible);
    if (possible) {
      ++views;
      const Tensor r = t.reshaped(target);
      REQUIRE(r.shape() == target);
      REQUIRE(to_doubles(r) == to_doubles(t));
      REQUIRE(r.storage() == t.storage());
    } else {
      ++copies;
      REQUIRE(contains(error_of([&] { t.reshaped(target); }), "needs a copy"));
    }
  }
  CHECK(views > 500);
  CHECK(copies > 500);
}

TEST_CASE("is_contiguous means: row-major order without gaps") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Choices choices(seed);
    const Tensor t = random_view(choices);
    const auto at = offsets(t.shape(), t.strides());
    bool adjacent = true;
    for (std::size_t i = 0; i < at.size(); ++i)
      adjacent = adjacent && at[i] == static_cast<std::int64_t>(i);
    INFO("seed " << seed << ": " << to_string(t.shape()) << " " << to_string(t.strides()));
    REQUIRE(t.is_contiguous() == adjacent);
    REQUIRE(to_doubles(contiguous(t)) == to_doubles(t));
    REQUIRE(contiguous(t).is_contiguous());
  }
}

TEST_CASE("numel is 64 bits wide") {
  CHECK(Shape{64, 1024, 50257}.numel() == 3293642752);
  CHECK(Shape{}.numel() == 1);
  CHECK(Shape{3, 0, 5}.numel() == 0);
}

TEST_CASE("strides are row-major") {
  CHECK(contiguous_strides({2, 3, 4}) == Strides{12, 4, 1});
  CHECK(contiguous_strides({}) == Strides{});
  CHECK(to_string(Shape{2, 3, 4}) == "(2, 3, 4)");
}

TEST_CASE("broadcasting follows NumPy") {
  CHECK(broadcast_shape({5, 4}, {1}) == Shape{5, 4});
  CHECK(broadcast_shape({15, 3, 5}, {15, 1, 5}) == Shape{15, 3, 5});
  CHECK(broadcast_shape({8, 1, 6, 1}, {7, 1, 5}) == Shape{8, 7, 6, 5});
  CHECK(broadcast_shape({}, {2, 0}) == Shape{2, 0});
  CHECK(broadcast_shape({1}, {0}) == Shape{0});
  CHECK(contains(error_of([] { broadcast_shape({3}, {4}); }), "(3) and (4)"));
  CHECK(contains(error_of([] { broadcast_shape({0}, {2}); }), "(0) and (2)"));
}

TEST_CASE("transposed, sliced and expanded show the elements they name") {
  const Tensor t = counting({2, 3});  // 0 1 2 / 3 4 5
  CHECK(to_doubles(t.transposed(0, 1)) == Values{0, 3, 1, 4, 2, 5});
  CHECK(to_doubles(t.transposed(-1, -2)) == Values{0, 3, 1, 4, 2, 5});
  CHECK(to_doubles(t.sliced(1, 1, 2)) == Values{1, 2, 4, 5});
  CHECK(to_doubles(t.sliced(-2, 1, 1)) == Values{3, 4, 5});
  CHECK(to_doubles(t.transposed(0, 1).sliced(0, 2, 1)) == Values{2, 5});
  CHECK(to_doubles(t.sliced(1, 0, 1).expanded({2, 2})) == Values{0, 0, 3, 3});
  CHECK(to_doubles(t.sliced(0, 0, 1).expanded({2, 2, 3})) ==
        Values{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
  CHECK(t.size(-1) == 3);
}

TEST_CASE("eight dimensions work, nine are refused") {
  const Shape eight{1, 2, 1, 3, 1, 2, 1, 2};
  const Tensor t = counting(eight);
  CHECK(to_doubles(t.transposed(3, 7).transposed(7, 3)) == to_doubles(t));
  CHECK(to_doubles(contiguous(t.transposed(1, 3))) == to_doubles(t.transposed(1, 3)));
  CHECK(t.reshaped({24}).reshaped(eight).strides() == contiguous_strides(eight));
  CHECK(contains(error_of([&] {
                   Shape nine = eight;
                   nine.push_back(1);
                 }),
                 "at most 8"));
}

TEST_CASE("empty tensors have shapes, views and no elements") {
  const Tensor t = empty({2, 0, 3}, DType::f64);
  CHECK(t.numel() == 0);
  CHECK(to_doubles(t).empty());
  CHECK(t.can_reshape({0, 7}));
  CHECK(t.transposed(0, 1).shape() == Shape{0, 2, 3});
  CHECK(t.expanded({4, 2, 0, 3}).numel() == 0);
  CHECK(counting({3}).sliced(0, 3, 0).numel() == 0);
  CHECK(contiguous(t.transposed(0, 2)).shape() == Shape{3, 0, 2});
  fill(t, 5);
}

TEST_CASE("views that do not fit are refused with both shapes") {
  const Tensor t = counting({2, 3});
  CHECK(contains(error_of([&] { t.reshaped({4}); }), "(2, 3) to (4)"));
  CHECK(contains(error_of([&] { t.expanded({2, 4}); }), "(2, 3)"));
  CHECK(contains(error_of([&] { t.expanded({3}); }), "(2, 3)"));
  CHECK(contains(error_of([&] { t.sliced(1, 2, 2); }), "[2, 4)"));
  CHECK(contains(error_of([&] { t.sliced(1, -1, 2); }), "(2, 3)"));
  CHECK(contains(error_of([&] { t.transposed(0, 2); }), "dimension 2"));
  CHECK(contains(error_of([&] { t.data<float>(); }), "fp64"));
}

}  // namespace
}  // namespace skep::testing
