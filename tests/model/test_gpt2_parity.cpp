// GPT-2 against PyTorch: loss, logits, every gradient, ten AdamW steps.
#include <catch2/catch.hpp>

#include "engine/core/random.h"
#include "engine/optim/gradient_factor.h"
#include "gpt2_reference.h"

using namespace skep;
using namespace skep::test;

namespace {

// The bias of the keys shifts every score of a row alike: its true gradient is zero, and what is
// computed is rounding. Comparing it relatively compares noise.
bool is_qkv_bias(const std::string& path) { return path.find("qkv.bias") != std::string::npos; }

Tensor without_keys(const Tensor& qkv_bias) {
  const std::int64_t n = qkv_bias.size(0) / 3;
  Tensor out = empty({2, n}, qkv_bias.dtype());
  copy(out.sliced(0, 0, 1).reshaped({n}), qkv_bias.sliced(0, 0, n));
  copy(out.sliced(0, 1, 1).reshaped({n}), qkv_bias.sliced(0, 2 * n, n));
  return out;
}

double compare(const std::string& path, const Tensor& ours, const Tensor& theirs) {
  if (is_qkv_bias(path)) return relative_difference(without_keys(ours), without_keys(theirs));
  return relative_difference(ours, theirs);
}

}  // namespace

TEST_CASE("GPT-2: loss, logits and every gradient equal PyTorch's") {
  const std::string name = GENERATE("gpt2_tiny", "gpt2_tiny_nobias");
  const DType dtype = GENERATE(DType::f32, DType::f64);
  const double tolerance = dtype == DType::f64 ? 1e-12 : 1e-5;
  const Reference reference(name);
  Gpt2Under gpt(reference, 2, 2, dtype);
  INFO(name << " " << name_of(dtype));
  CHECK(gpt.run(reference) == Approx(reference.number("loss_sum")).epsilon(tolerance));
  {
    const NoGrad pause;
    CHECK(relative_difference((*gpt.model)(reference.tensor("tokens"), Pass{}),
                              reference.tensor("logits")) < tolerance);
  }
  for (const auto& entry : gpt.store->list()) {
    INFO(entry.path);
    CHECK(compare(entry.path, entry.grad, in_our_layout(reference, "grad.", entry.path)) <
          tolerance);
  }
}

TEST_CASE("GPT-2: odd shapes equal PyTorch's") {
  struct Case {
    std::string name;
    std::int64_t layers, heads;
  };
  const Case c = GENERATE(Case{"gpt2_t1", 1, 1}, Case{"gpt2_t7", 1, 2}, Case{"gpt2_t65", 1, 1});
  const Reference reference(c.name);
  Gpt2Under gpt(reference, c.layers, c.heads, DType::f32);
  INFO(c.name);
  CHECK(gpt.run(reference) == Approx(reference.number("loss_sum")).epsilon(1e-5));
  const double largest = norm(gpt.store->grads());
  for (const auto& entry : gpt.store->list()) {
    INFO(entry.path);
    const double theirs =
        reference.number("grad_norm.transformer." + gpt2_hf_name(entry.path).name);
    CHECK(std::abs(norm(entry.grad) - theirs) < 1e-5 * theirs + 1e-7 * largest);
  }
}

TEST_CASE("GPT-2: ten AdamW steps equal PyTorch's") {
  const Reference reference("gpt2_tiny");
  Gpt2Under gpt(reference, 2, 2, DType::f32);
  const auto optimizer = make_adamw({0.9, 0.99, 1e-8, 0.1}, gpt.store->values());
  const auto losses = to_doubles(reference.tensor("train.loss"));
  const auto norms = to_doubles(reference.tensor("train.grad_norm"));
  const double count = reference.number("loss_count");
  for (int step = 0; step < 10; ++step) {
    CHECK(gpt.run(reference) / count == Approx(losses[step]).epsilon(1e-4));
    const GradientFactor clip = gradient_factor(gpt.store->grads(), count, 1);
    CHECK(clip.norm.item() == Approx(norms[step]).epsilon(1e-4));
    optimizer->update(gpt.store->values(), gpt.store->grads(), gpt.store->decay_ranges(), 1e-3,
                      clip.factor);
  }
  for (const auto& entry : gpt.store->list()) {
    INFO(entry.path);
    CHECK(compare(entry.path, entry.value, in_our_layout(reference, "final.", entry.path)) < 1e-4);
  }
}

TEST_CASE("GPT-2: directional derivative of the whole model in fp64") {
  const Reference reference("gpt2_tiny");
  Gpt2Under gpt(reference, 2, 2, DType::f64);
  gpt.run(reference);
  const auto gradient = to_doubles(gpt.store->grads());
  double* values = gpt.store->values().data<double>();
  const std::vector<double> start(values, values + gradient.size());
  for (std::uint64_t direction = 0; direction < 4; ++direction) {
    std::vector<double> d(gradient.size());
    double along = 0;
    for (std::size_t i = 0; i < d.size(); ++i) {
      // Leaning towards the gradient keeps the derivative well away from zero.
      d[i] = random_normal(direction, i) + (gradient[i] > 0 ? 1 : -1);
      along += d[i] * gradient[i];
    }
    const double step = 1e-6;
    auto loss_at = [&](double t) {
      for (std::size_t i = 0; i < d.size(); ++i) values[i] = start[i] + t * d[i];
      return gpt.run(reference);
    };
    CHECK((loss_at(step) - loss_at(-step)) / (2 * step) == Approx(along).epsilon(1e-6));
    std::copy(start.begin(), start.end(), values);
  }
}
