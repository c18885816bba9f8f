// Depth and time: a very long graph needs no stack, and a thousand short ones no memory.
#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include "engine/ops/ops.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

// Resident pages of this process.
long resident_pages() {
  long total = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file);
  REQUIRE(std::fscanf(file, "%ld %ld", &total, &resident) == 2);
  std::fclose(file);
  return resident;
}

Tensor scalar(double value) { return with_grad(tensor_of(Values{value}, {1})); }

// y = y + y 1e-6, `steps` times: dy/dx = (1 + 1e-6)^steps.
Tensor long_chain(const Tensor& x, int steps) {
  Tensor y = x;
  for (int i = 0; i < steps; ++i) y = add(y, scale(y, 1e-6));
  return y;
}

TEST_CASE("AG-DEEP: 200,000 steps backward") {
  const Tensor x = scalar(1);
  {
    Tape tape;
    const Tensor y = long_chain(x, 200000);
    CHECK(tape.nodes().size() == 400000);
    tape.backward(sum(y));
  }
  CHECK(grad_of(x).item() == Approx(std::exp(200000 * std::log1p(1e-6))).epsilon(1e-9));
  CHECK(grad_of(x).item() == Approx(1.2214).epsilon(1e-4));
  CHECK(Node::live() == 0);
}

TEST_CASE("AG-DEEP: 200,000 steps destroyed without backward") {
  const Tensor x = scalar(1);
  {
    Tape tape;
    long_chain(x, 200000);
    CHECK(Node::live() == 400000);
  }
  CHECK(Node::live() == 0);
}

TEST_CASE("AG-LEAK: a thousand graphs leave nothing behind") {
  const Tensor x = with_grad(random_tensor({64, 256}, DType::f32, 1));
  const auto step = [&] {
    Tape tape;
    const Tensor loss = sum(softmax(exp(tanh(x))));
    tape.backward(loss);
    x.slot()->written = false;
  };
  for (int i = 0; i < 20; ++i) step();
  [[maybe_unused]] const long before = resident_pages();
  for (int i = 0; i < 1000; ++i) step();
  CHECK(Node::live() == 0);
  // 64 kB are one activation; a leak of one a step would be 64 MB.
#if !defined(__SANITIZE_ADDRESS__)  // which keeps freed memory in quarantine
  CHECK((resident_pages() - before) * 4096 < (4 << 20));
#endif
}

TEST_CASE("a node is freed as soon as it has run") {
  const Tensor x = scalar(1);
  Tape tape;
  const Tensor y = scale(x, 2), z = scale(y, 3);
  std::int64_t live_at_end = -1;
  x.slot()->on_ready = [&](const GradSlot&) { live_at_end = Node::live(); };
  tape.backward(sum(z));
  CHECK(live_at_end == 1);  // only the node that is running
  CHECK(Node::live() == 0);
}

}  // namespace
}  // namespace skep::testing
