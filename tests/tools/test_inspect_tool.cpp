// inspect: GPT-2's sizes by hand, and the gradient check with an op that lies.
#include "engine/autograd/tape.h"
#include "engine/ops/op_table.h"
#include "tests/tools/models.h"
#include "tests/tools/process.h"
#include "tools/inspect/commands.h"
#include "tools/inspect/trace.h"

using namespace skep;

namespace {

// x², whose gradient is given as x: wrong by a factor of two. Only this test's binary has it.
struct HalfGradient final : Node {
  Saved x;
  void backward(std::span<const Tensor> grads, GradSink& sink) override {
    std::vector<double> values = to_doubles(x.get());
    const std::vector<double> incoming = to_doubles(grads[0]);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= incoming[i];
    sink.give(0, tensor_of(values, x.get().shape()));
  }
};

Tensor square_with_wrong_gradient(const Tensor& x) {
  std::vector<double> values = to_doubles(x);
  for (double& value : values) value *= value;
  Tensor out = tensor_of(values, x.shape());
  if (Tape::current() == nullptr || NoGrad::active()) return out;
  out = with_grad(out);
  auto node = std::make_unique<HalfGradient>();
  node->x = Saved(x);
  node->inputs = {x.slot()};
  node->outputs = {out.slot()};
  node->set_name("test_lie");
  Tape::current()->record(std::move(node));
  return out;
}

const OpEntry lie("test_lie", "x²", square_with_wrong_gradient, [](const Shape& x) { return x; },
                  {normal({3})});

}  // namespace

TEST_CASE("inspect gradcheck: every op of the program is ok") {
  const Finished finished = run_shell("inspect gradcheck");
  CHECK(finished.err == "");
  CHECK(finished.exit_code == 0);
  CHECK(finished.out.find("FAIL") == std::string::npos);
  for (const OpEntry* op : op_table())
    if (op->name() != "test_lie")
      CHECK_THAT(finished.out, Catch::Contains("\n" + op->name() + " "));
  CHECK(std::count(finished.out.begin(), finished.out.end(), '\n') ==
        static_cast<std::ptrdiff_t>(op_table().size()));
  // A tolerance below rounding fails all that are checked, with exit code 1.
  CHECK(run_shell("inspect gradcheck --tolerance 0").exit_code == 1);
}

TEST_CASE("inspect gradcheck: a wrong gradient is found and named") {
  const std::string message = error_of(ErrorKind::bug, [] {
    inspect_gradcheck({"--tolerance", "1e-6"});
  });
  CHECK_THAT(message, Catch::Contains("test_lie (input 0 element") && !Catch::Contains(";"));
}

TEST_CASE("inspect shapes: GPT-2's smallest model has 124,439,808 parameters") {
  Config config;
  config.model.layers = 12;
  config.model.heads = 12;
  config.model.width = 768;
  config.model.context = 1024;
  config.model.vocab = 50257;
  const auto model = make_model(configured_model(config));
  std::int64_t parameters = 0;
  for (const Parameter* parameter : model->parameters()) parameters += parameter->shape.numel();
  CHECK(parameters == 124439808);
}

TEST_CASE("inspect shapes: a line per module call, in the order they return") {
  const Finished finished = run_shell(
      "inspect shapes --model.layers 2 --model.heads 2 --model.width 16 --model.context 8 "
      "--model.vocab 40 --batch.global_batch 6 --batch.micro_batch 3");
  CHECK(finished.err == "");
  CHECK(finished.exit_code == 0);
  std::istringstream lines(finished.out);
  std::vector<std::string> calls;
  for (std::string line; std::getline(lines, line);) {
    std::string collapsed;
    std::unique_copy(line.begin(), line.end(), std::back_inserter(collapsed),
                     [](char a, char b) { return a == ' ' && b == ' '; });
    calls.push_back(collapsed);
  }
  const auto has = [&](const std::string& call) {
    INFO(call << " in:\n" << finished.out);
    CHECK(std::find(calls.begin(), calls.end(), call) != calls.end());
  };
  has("token_embedding (3, 8, 16) 640");
  has("position_embedding (8, 16) 128");
  has("blocks.0.norm_1 (3, 8, 16) 32");
  has("blocks.0.attention.qkv (3, 8, 48) 816");  // 16·48 + 48
  has("blocks.0.attention (3, 8, 16) 1088");     // and 16·16 + 16
  has("blocks.1.mlp.up (3, 8, 64) 1088");        // 16·64 + 64
  has("blocks.1 (3, 8, 16) 3280");               // 12·16² + 13·16
  has("model (3, 8, 40) 7360");                  // 640 + 128 + 2·3280 + 32
  CHECK_THAT(calls.back(), Catch::StartsWith("total 7360 parameters, 29440 bytes in fp32; "));
}

TEST_CASE("inspect shapes and graph: a folder's model, and as many ops as the tape has lines") {
  const TemporaryFolder folder;
  const LoadedModel made = random_model(small_config(40, 8));
  save_model(folder.path(), made.model->config(), *made.parameters);
  const Finished shapes = run_shell("inspect shapes --model " + folder.path());
  CHECK_THAT(shapes.out, Catch::Contains("(1, 8, 40)"));
  const Finished graph = run_shell("inspect graph --model " + folder.path());
  CHECK(graph.exit_code == 0);
  const auto ops = std::count(graph.out.begin(), graph.out.end(), '\n');
  CHECK_THAT(shapes.out, Catch::Contains(fmt::format("; {} ops on the tape", ops)));
  CHECK_THAT(graph.out, Catch::Contains("   0 embedding") && Catch::Contains("packed_attention"));
  CHECK_THAT(graph.out.substr(graph.out.rfind('\n', graph.out.size() - 2)),
             Catch::Contains("cross_entropy"));
}

TEST_CASE("inspect: mistakes are told in one line, with the exit code of their kind") {
  const TemporaryFolder folder;
  const std::string file = folder.file("run.toml", "[model]\nlayrs = 3\n");
  struct Mistake {
    std::string command;
    int code;
    std::string message;
  };
  const std::vector<Mistake> mistakes = {
      {"", 2, "name a command"},
      {"shape", 2, "did you mean shapes?"},
      {"gradcheck --tolerence 1", 2, "did you mean --tolerance?"},
      {"shapes --model.layrs 3", 2, "did you mean --model.layers?"},
      {"shapes --config " + file, 2, "run.toml:2: unknown key model.layrs"},
      {"shapes --model.width 10 --model.heads 3", 2, "not a multiple"},
      {"shapes --model /nowhere", 3, "/nowhere"},
      {"shapes --model /nowhere --model.layers 2", 2, "remove --model.layers"},
      {"shapes --data.tokenizer char", 2, "comes from a text"},
  };
  for (const Mistake& mistake : mistakes) {
    INFO(mistake.command);
    const Finished finished = run_shell("inspect " + mistake.command);
    CHECK(finished.exit_code == mistake.code);
    CHECK(finished.out == "");
    CHECK_THAT(finished.err, Catch::StartsWith("inspect: ") && Catch::Contains(mistake.message));
  }
  CHECK_THAT(run_shell("inspect --help").out, Catch::Contains("gradcheck"));
  for (const char* name : {"gradcheck", "shapes", "graph"})
    CHECK_THAT(run_shell(fmt::format("inspect {} --help", name)).out, Catch::Contains("--help"));
}
