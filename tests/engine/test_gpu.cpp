// The GPU backend against the CPU's: every op of the table in every type and layout, attention and
// products in the shapes where the kernels have edges, optimizers, memory. An op gets these tests
// by having an entry.
#include "tests/engine/gpu.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "engine/backends/backend.h"
#include "engine/backends/cuda/simulated/scheduler.h"
#include "engine/ops/op_table.h"
#include "engine/ops/ops.h"
#include "engine/optim/optimizer.h"

namespace skep::testing {
namespace {

template <class F>
void for_each_sample(F f) {
  for (const OpEntry* entry : op_table())
    for (std::size_t i = 0; i < entry->samples().size(); ++i)
      f(entry->samples()[i], entry->name() + " sample " + std::to_string(i));
}

// The same numbers in every type.
std::vector<Tensor> inputs_of(const OpSample& sample, DType dtype) {
  std::vector<Tensor> inputs;
  for (const Tensor& t : make_inputs(sample, DType::bf16, 11))
    inputs.push_back(t.defined() && is_float(t.dtype()) ? with_grad(converted(t, dtype)) : t);
  return inputs;
}

struct Order {
  explicit Order(unsigned seed) { simulated::set_order_seed(seed); }
  ~Order() { simulated::set_order_seed(0); }
};

TEST_CASE("gpu: every op gives what fp64 on the CPU gives, in every type and layout") {
  const auto before = simulated::kernels_run();
  for_each_sample([](const OpSample& sample, const std::string& label) {
    const Outcome exact = run(sample.call, inputs_of(sample, DType::f64));
    for (const DType dtype : float_types)
      for (const Layout layout :
           {Layout::contiguous, Layout::reversed, Layout::sliced, Layout::every_second}) {
        INFO(label << " in " << name_of(dtype) << ", layout " << static_cast<int>(layout));
        const Outcome got = run(sample.call, on_gpu(inputs_of(sample, dtype), layout), layout);
        CHECK(relative_error(got, exact) < rounding_of(dtype));
      }
  });
  CHECK(simulated::kernels_run() - before > 1000);
}

TEST_CASE("gpu: the order in which lanes and warps run changes no bit") {
  for_each_sample([](const OpSample& sample, const std::string& label) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Outcome plain = run(sample.call, on_gpu(inputs_of(sample, dtype)));
      for (const unsigned seed : {1u, 2u}) {
        const Order order(seed);
        const Outcome shuffled = run(sample.call, on_gpu(inputs_of(sample, dtype)));
        INFO(label << " in " << name_of(dtype) << ", order " << seed);
        CHECK((shuffled.outputs == plain.outputs));
        CHECK((shuffled.grads == plain.grads));
      }
    }
  });
}

struct Heads {
  std::int64_t batch, queries, keys, heads, key_heads, width, value_width;
};

TEST_CASE("gpu: attention with edges of tiles and warps, shared heads, masks") {
  // A warp takes 32 keys at a time, a lane at most 4 of 128 columns.
  const std::vector<Heads> shapes = {{1, 1, 1, 1, 1, 1, 1},
                                     {2, 31, 31, 2, 1, 8, 8},
                                     {1, 33, 65, 2, 2, 24, 5},
                                     {1, 7, 100, 4, 2, 130, 131},
                                     {1, 64, 64, 1, 1, 16, 16}};
  for (const Heads& s : shapes)
    for (const bool causal : {true, false})
      for (const bool masked : {true, false})
        for (const DType dtype : float_types) {
          const auto make = [&](DType type, Device device) {
            std::vector<Tensor> in = {
                random_tensor({s.batch, s.queries, s.heads, s.width}, type, 1),
                random_tensor({s.batch, s.keys, s.key_heads, s.width}, type, 2),
                random_tensor({s.batch, s.keys, s.key_heads, s.value_width}, type, 3)};
            for (Tensor& t : in) t = with_grad(to_device(t, device));
            if (masked) {  // the last row may look nowhere
              std::vector<std::int32_t> may(static_cast<std::size_t>(s.queries * s.keys));
              for (std::size_t i = 0; i + static_cast<std::size_t>(s.keys) < may.size(); ++i)
                may[i] = i % 3 != 0;
              in.push_back(to_device(tensor_of(may, {s.queries, s.keys}), device));
            } else {
              in.push_back({});
            }
            return in;
          };
          const Function call = [&](const std::vector<Tensor>& in) {
            const auto how = causal ? AttentionOptions::Causal::yes : AttentionOptions::Causal::no;
            return std::vector{attention(in[0], in[1], in[2], in[3], {how, 0})};
          };
          INFO(s.queries << " queries, " << s.keys << " keys, width " << s.width << ", "
                         << name_of(dtype) << (causal ? ", causal" : "")
                         << (masked ? ", masked" : ""));
          const Outcome exact = run(call, make(DType::f64, {}));
          CHECK(relative_error(run(call, make(dtype, gpu)), exact) < 2 * rounding_of(dtype));
        }
}

TEST_CASE("gpu: products of any strides and types, accumulated and with a bias") {
  const std::vector<std::array<DType, 3>> types = {
      {DType::f32, DType::f32, DType::f32},   {DType::bf16, DType::bf16, DType::bf16},
      {DType::bf16, DType::bf16, DType::f32}, {DType::f16, DType::f16, DType::f32},
      {DType::f32, DType::bf16, DType::f32},  {DType::f64, DType::f64, DType::f64},
      {DType::bf16, DType::bf16, DType::f16}};
  for (const auto& [ta, tb, tc] : types)
    for (const std::int64_t k : {0, 1, 7})
      for (const Layout layout :
           {Layout::contiguous, Layout::reversed, Layout::sliced, Layout::every_second})
        for (const Write write : {Write::overwrite, Write::accumulate}) {
          const bool biased = write == Write::overwrite;
          const Tensor a = random_tensor({5, k}, ta, 1), b = random_tensor({k, 3}, tb, 2);
          const Tensor c = random_tensor({5, 3}, tc, 3);
          const Tensor bias = random_tensor({3}, compute_type(tc), 4);
          const auto x = to_doubles(a), y = to_doubles(b), z = to_doubles(bias);
          Values want = to_doubles(c);
          for (std::int64_t i = 0; i < 5; ++i)
            for (std::int64_t j = 0; j < 3; ++j) {
              double& w = want[static_cast<std::size_t>(i * 3 + j)];
              if (write == Write::overwrite) w = 0;
              for (std::int64_t m = 0; m < k; ++m)
                w += 0.5 * x[static_cast<std::size_t>(i * k + m)] *
                     y[static_cast<std::size_t>(m * 3 + j)];
              if (biased) w += z[static_cast<std::size_t>(j)];
            }
          const Tensor out = on_gpu(c, layout), device_bias = on_gpu(bias);
          GemmOptions options{write, 0.5, biased ? device_bias.raw() : nullptr};
          backend(gpu).gemm(as_matrix(on_gpu(a, layout)), as_matrix(on_gpu(b, layout)),
                            as_matrix(out), options);
          INFO(name_of(ta) << " " << name_of(tb) << " " << name_of(tc) << ", k " << k << ", layout "
                           << static_cast<int>(layout));
          CHECK(relative_error(to_doubles(out), want) < rounding_of(tc));
        }
}

Tensor factor_on(Device device, double factor) {
  return to_device(tensor_of(std::vector<double>{factor}, {}), device);
}

TEST_CASE("gpu: optimizers take the steps they take on the CPU") {
  for (const bool adamw : {true, false}) {
    const auto weights = [&](Device device) {
      const OptimizerSettings settings{.beta2 = 0.95, .weight_decay = 0.1};
      const Tensor values = to_device(random_tensor({1003}, DType::f32, 1), device);
      const auto optimizer = adamw ? make_adamw(settings, values) : make_sgd(settings, values);
      const std::vector<FlatRange> ranges = {{0, 500, FlatRange::Decay::yes},
                                             {500, 1003, FlatRange::Decay::no}};
      for (std::uint64_t step = 0; step < 5; ++step)
        optimizer->update(values, to_device(random_tensor({1003}, DType::f32, 10 + step), device),
                          ranges, 0.01, factor_on(device, step == 2 ? 0 : 0.5));
      return to_doubles(values);
    };
    CHECK(relative_error(weights(gpu), weights({})) < 1e-6);
  }
}

TEST_CASE("gpu: the host cannot read its memory by mistake", "[not_under_tsan]") {
  const Tensor t = to_device(random_tensor({4}, DType::f32, 1), gpu);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // not the test framework's handler
    _exit(t.data<float>()[0] == 0 ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(!(WIFEXITED(status) && WEXITSTATUS(status) <= 1));
}

TEST_CASE("gpu: a tensor that nobody wrote is not a number") {
  for (const DType dtype : float_types) CHECK(std::isnan(to_doubles(empty({3}, dtype, gpu))[1]));
}

TEST_CASE("gpu: memory is counted and used again") {
  Backend& backend = skep::backend(gpu);
  { const Tensor warm = empty({1000}, DType::f32, gpu); }
  const MemoryUse before = backend.memory();
  {
    const Tensor t = empty({1000}, DType::f32, gpu);
    CHECK(backend.memory().in_use == before.in_use + 4000);
  }
  CHECK(backend.memory().in_use == before.in_use);
  CHECK(backend.memory().reserved == before.reserved);
}

}  // namespace
}  // namespace skep::testing
