// bench: the measured step is a real training step, the ops measured are those of the table and do
// the work they are charged with, and the program reports it.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/autograd/tape.h"
#include "engine/backends/backend.h"
#include "engine/kernels/copy.h"
#include "engine/ops/op_table.h"
#include "tests/tools/process.h"
#include "tools/bench/op_cases.h"
#include "tools/bench/training_step.h"

using namespace skep;

namespace {

const BenchPreset little{"little", 1, 2, 12, 17, 32, 2, 65};

double products_of(const std::function<void()>& f) {
  const double before = backend({}).product_flops();
  f();
  return backend({}).product_flops() - before;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("the measured step learns its batch and counts its work") {
  BenchPreset tiny{"tiny", 2, 2, 32, 17, 32, 2, 16};
  TrainingStep step(tiny);
  const double first = step.run();
  CHECK(first == Approx(std::log(17)).epsilon(0.05));  // a fresh model knows nothing
  for (int i = 0; i < 30; ++i) step.run();
  CHECK(step.run() < 0.7 * first);
  // 6 (12 L C^2 + V C) per token, and 7 L C T per token of attention.
  CHECK(step.flops() == 32 * (6.0 * (12 * 2 * 32 * 32 + 17 * 32) + 7.0 * 2 * 32 * 16));
}

TEST_CASE("presets are the published sizes; a wrong name lists them") {
  CHECK(find_preset("gpt64").layers == 12);
  CHECK_THROWS_WITH(find_preset("huge"), Catch::Contains("small, mid, gpt64, gpt256"));
  CHECK(chosen_presets("").size() == 4);
  CHECK(chosen_presets("tiny").size() == 1);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
}

TEST_CASE("a steady step takes no memory from the system") {
  const DType compute = GENERATE(DType::f32, DType::bf16);
  TrainingStep step(BenchPreset{"tiny", 2, 2, 32, 17, 32, 2, 65}, compute);
  for (int i = 0; i < 3; ++i) step.run();
  const MemoryUse before = backend({}).memory();
  for (int i = 0; i < 1000; ++i) step.run();
  const MemoryUse after = backend({}).memory();
  CHECK(after.reserved == before.reserved);
  CHECK(after.in_use == before.in_use);
}

TEST_CASE("products are counted as they run") {
  const double before = backend({}).product_flops();
  const Tensor a = zeros({3, 4}), b = zeros({4, 5}), c = zeros({3, 5});
  backend({}).gemm(as_matrix(a), as_matrix(b), as_matrix(c), {});
  CHECK(backend({}).product_flops() - before == 2 * 3 * 4 * 5);
}

TEST_CASE("bench ops: every op has a line, and a line runs the op it names") {
  const DType compute = GENERATE(DType::f32, DType::bf16);
  const auto cases = op_cases(little, compute);
  // test_lie is an op of this test's binary only: one without a line is told.
  CHECK(unmeasured_ops(cases) == std::vector<std::string>{"test_lie"});
  for (const OpCase& c : cases) {
    INFO(c.op << " in " << name_of(compute));
    const auto inputs = make_inputs(c, compute);
    Tape tape;
    const auto outputs = c.call(inputs);
    REQUIRE(tape.nodes().size() == 1);
    CHECK(tape.nodes().front()->name() == c.op);
    if (c.forward.nothing())
      for (const Tensor& y : outputs) CHECK(y.storage() == inputs[0].storage());
  }
}

TEST_CASE("bench ops: products are charged what the backend counts") {
  for (const OpCase& c : op_cases(little, DType::f32)) {
    INFO(c.op);
    const auto inputs = make_inputs(c, DType::f32);
    Tape tape;
    std::vector<Tensor> outputs;
    const double forward = products_of([&] { outputs = c.call(inputs); });
    const double backward = products_of([&] {
      const NoGrad pause;
      GradSink sink(*tape.nodes().front());
      std::vector<Tensor> gradients;
      for (const Tensor& y : outputs) gradients.push_back(zeros(y.shape()));
      tape.nodes().front()->backward(gradients, sink);
    });
    if (c.op.find("attention") == std::string::npos) {
      CHECK(c.forward.flops == forward);
      CHECK(c.backward.flops == backward);
    } else {  // what the mask hides is charged to nobody, but partly computed: panels are square
      CHECK(forward / c.forward.flops == Approx(backward / c.backward.flops).epsilon(1e-12));
      CHECK(forward >= c.forward.flops);
      CHECK(forward <= 2 * c.forward.flops);
    }
  }
}

TEST_CASE("bench ops: memory is charged each tensor once") {
  const double n = 2 * 65 * 12, logits = 2 * 65 * 17, table = 17 * 12;
  const auto moved = [](const std::string& op, DType compute) {
    for (const OpCase& c : op_cases(little, compute))
      if (c.op == op) return std::pair{c.forward.bytes, c.backward.bytes};
    return std::pair{-1.0, -1.0};
  };
  using Bytes = std::pair<double, double>;
  CHECK(moved("gelu", DType::f32) == Bytes{32 * n, 48 * n});
  CHECK(moved("gelu", DType::bf16) == Bytes{16 * n, 24 * n});
  CHECK(moved("layer_norm", DType::bf16) == Bytes{6 * n, 10 * n});
  CHECK(moved("cast", DType::f32) == Bytes{6 * n, 6 * n});
  CHECK(moved("cross_entropy", DType::f32) == Bytes{4 * logits, 8 * logits});
  CHECK(moved("embedding", DType::f32) == Bytes{8 * n, 4 * (n + table)});
  CHECK(moved("head_cross_entropy", DType::bf16).second == 2 * (2 * n + 4 * table));
  CHECK(moved("split", DType::f32) == Bytes{0, 24 * n});
}

TEST_CASE("bench ops: the program prints two lines an op") {
  const Finished finished = run_shell("bench ops --preset small --runs 1");
  CHECK(finished.err == "");
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out, Catch::StartsWith("best of this core: ") &&
                               !Catch::Contains("not measured") && !Catch::Contains("inf") &&
                               !Catch::Contains("nan"));
  const auto lines = lines_of(finished.out);
  for (const OpEntry* op : op_table()) {
    if (op->name() == "test_lie") continue;
    INFO(op->name() << " in:\n" << finished.out);
    CHECK(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
            return line.starts_with(op->name() + " ");
          }) == 2);
  }
  CHECK(lines_of(run_shell("bench ops --preset small --runs 1 --op gelu").out).size() == 4);
  const Finished wrong = run_shell("bench ops --op gelo");
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.err, Catch::Contains("did you mean gelu?"));
  CHECK(run_shell("bench ops --runs 0").exit_code == 2);
}

TEST_CASE("bench codecs: bytes are the arithmetic of each codec, times are positive") {
  const Finished finished =
      run_shell("bench codecs --elements 4096 --density 0.125 --runs 1 --json");
  CHECK(finished.err == "");
  REQUIRE(finished.exit_code == 0);
  const auto json = nlohmann::json::parse(finished.out);
  const double int8 = 1 + 4 / 256.0, int4 = 0.5 + 4 / 256.0, topk = 8 * 0.125;
  const std::map<std::string, double> expected{{"bf16", 2},
                                               {"int8", int8},
                                               {"int4", int4},
                                               {"topk", topk},
                                               {"topk_int8", topk + int8},
                                               {"topk_int4", topk + int4}};
  CHECK(json.size() == expected.size());
  for (const auto& [name, bytes] : expected) {
    INFO(name);
    CHECK(json.at(name).at("bytes_per_element") == bytes);
    CHECK(json.at(name).at("encode_s_per_element") > 0);
    CHECK(json.at(name).at("decode_s_per_element") > 0);
  }
  CHECK_THAT(run_shell("bench codecs --elements 100 --runs 1").out, Catch::Contains("topk_int4"));
  CHECK(run_shell("bench codecs --density 0").exit_code == 2);
}
