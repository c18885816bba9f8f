// evaluate: numbers by hand and PyTorch's, and the same for any number of ranks.
#include <cmath>

#include "tests/tools/models.h"
#include "tests/tools/process.h"
#include "tools/evaluate/evaluation.h"
#include "train/data/byte_tokenizer.h"
#include "train/data/char_tokenizer.h"
#include "train/data/token_file.h"

using namespace skep;

namespace {

std::string on_ranks(int ranks) {
  return ranks == 0 ? "" : fmt::format("{} -np {} ", SKEP_MPIRUN, ranks);
}

// A model whose weights are all zero gives every token the same probability.
void write_uniform_model(const std::string& folder, std::int64_t vocab) {
  const ModelConfig config = small_config(vocab, 8);
  const auto model = make_model(config);
  const ParameterStore parameters(*model, 1);
  fill(parameters.values(), 0);
  save_model(folder, config, parameters);
}

// The mean loss of a reference's own rows: every token but a row's first is a target.
double loss_of_rows(const test::Reference& reference) {
  const auto tokens = to_ids(reference.tensor("tokens"));
  const auto logits = to_doubles(reference.tensor("logits"));
  double sum = 0;
  for (std::int64_t t = 0; t + 1 < reference_length; ++t) {
    const double* row = logits.data() + t * reference_vocab;
    double total = 0;
    for (std::int64_t id = 0; id < reference_vocab; ++id) total += std::exp(row[id]);
    sum += std::log(total) - row[tokens[t + 1]];
  }
  return sum / static_cast<double>(reference_length - 1);
}

}  // namespace

TEST_CASE("evaluate: the report's lines") {
  // 8 tokens of one byte each at probability 1/4: 2 bits a token.
  CHECK(format_report({8 * std::log(4.0), 8}, 8) ==
        "loss 1.38629436\nperplexity 4.000000\ntokens 8\nbits_per_byte 2.00000000\n");
  CHECK(format_report({8 * std::log(4.0), 8}, std::nullopt) ==
        "loss 1.38629436\nperplexity 4.000000\ntokens 8\n");
  CHECK_THAT(error_of(ErrorKind::non_finite,
                      [] {
                        format_report({std::nan(""), 8}, {});
                      }),
             Catch::Contains("nan"));
}

TEST_CASE("evaluate: a uniform model's loss is the logarithm of its vocabulary") {
  const TemporaryFolder folder;
  write_uniform_model(folder.path(), 256);
  ByteTokenizer().save(folder.path());
  const std::string data = folder.file("text", std::string(100, 'x') + "\xFF\n");
  const Finished finished =
      run_shell(fmt::format("evaluate --model {} --data {}", folder.path(), data));
  CHECK(finished.err == "");
  CHECK(finished.exit_code == 0);
  CHECK(finished.out.starts_with("loss 5.5451"));
  CHECK(number_on_line(finished.out, "loss") == Approx(std::log(256.0)).margin(1e-6));
  CHECK(number_on_line(finished.out, "perplexity") == Approx(256).epsilon(1e-6));
  CHECK(number_on_line(finished.out, "tokens") == 101);
  CHECK(number_on_line(finished.out, "bits_per_byte") == Approx(8).margin(1e-6));
}

TEST_CASE("evaluate: bits per byte count bytes, not characters") {
  const TemporaryFolder folder;
  write_uniform_model(folder.path(), 2);
  CharTokenizer(U"a\u65E5").save(folder.path());
  // Four targets of one bit each that spell 3 + 1 + 3 + 1 bytes.
  const std::string data = folder.file("text", "a日a日a");
  const Finished finished =
      run_shell(fmt::format("evaluate --model {} --data {}", folder.path(), data));
  CHECK(number_on_line(finished.out, "bits_per_byte") == Approx(0.5).margin(1e-6));
}

TEST_CASE("evaluate: the loss is PyTorch's") {
  const std::string name = GENERATE("gpt2_tiny", "gpt2_tiny_nobias");
  const test::Reference reference(name);
  const TemporaryFolder folder;
  write_reference_model(reference, folder.path(), name == "gpt2_tiny" ? "true" : "false");
  const auto tokens = to_ids(reference.tensor("tokens"));
  write_token_file(folder / "row.bin", std::span(tokens).first(reference_length), reference_vocab);
  const Finished finished = run_shell(
      fmt::format("evaluate --model {} --data {} --context 16", folder.path(), folder / "row.bin"));
  CHECK(finished.err == "");
  CHECK(number_on_line(finished.out, "loss") == Approx(loss_of_rows(reference)).epsilon(1e-6));
  CHECK(number_on_line(finished.out, "tokens") == reference_length - 1);
  CHECK(finished.out.find("bits_per_byte") == std::string::npos);
}

TEST_CASE("evaluate: the same number on 1, 2 and 3 ranks") {
  const TemporaryFolder folder;
  const LoadedModel made = random_model(small_config(10, 8));
  save_model(folder.path(), made.model->config(), *made.parameters);
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 203; ++i) ids.push_back((i * i + 3 * i) % 10);
  write_token_file(folder / "data.bin", ids, 10);
  const std::string command =
      fmt::format("evaluate --model {} --data {} --batch 3", folder.path(), folder / "data.bin");
  const double alone = number_on_line(run_shell(command).out, "loss");
  CHECK(alone > std::log(10.0));  // large random weights know worse than nothing
  for (const int ranks : {1, 2, 3}) {
    const Finished finished = run_shell(on_ranks(ranks) + command);
    INFO(ranks << " ranks: " << finished.err);
    CHECK(finished.exit_code == 0);
    CHECK(std::abs(number_on_line(finished.out, "loss") - alone) < 1e-6);
    CHECK(number_on_line(finished.out, "tokens") == 202);
    CHECK(std::count(finished.out.begin(), finished.out.end(), '\n') == 3);
  }
  // More ranks than windows: some have nothing to do.
  write_token_file(folder / "short.bin", std::span(ids).first(9), 10);
  const Finished idle = run_shell(fmt::format("{}evaluate --model {} --data {}", on_ranks(3),
                                              folder.path(), folder / "short.bin"));
  CHECK(number_on_line(idle.out, "tokens") == 8);
}

TEST_CASE("evaluate: a shorter context sees less") {
  const TemporaryFolder folder;
  const LoadedModel made = random_model(small_config(10, 8));
  save_model(folder.path(), made.model->config(), *made.parameters);
  const std::vector<std::int32_t> ids = {1, 7, 3, 9, 2, 2, 5, 8, 0, 4, 6, 1, 3};
  write_token_file(folder / "data.bin", ids, 10);
  const auto loss = [&](int context) {
    return number_on_line(run_shell(fmt::format("evaluate --model {} --data {} --context {}",
                                                folder.path(), folder / "data.bin", context))
                              .out,
                          "loss");
  };
  CHECK(loss(0) == loss(8));
  CHECK(std::abs(loss(1) - loss(8)) > 1e-3);
}

TEST_CASE("evaluate: mistakes are told once, with the exit code of their kind") {
  const TemporaryFolder folder;
  write_uniform_model(folder.path(), 10);
  write_token_file(folder / "good.bin", std::vector<std::int32_t>{1, 2, 3}, 10);
  write_token_file(folder / "other.bin", std::vector<std::int32_t>{1, 2, 10}, 11);
  write_token_file(folder / "one.bin", std::vector<std::int32_t>{1}, 10);
  folder.file("text", "abc");
  struct Mistake {
    std::string flags;
    int code;
    std::string message;
  };
  const std::string good = folder / "good.bin";
  const std::vector<Mistake> mistakes = {
      {"", 2, "--data"},
      {"--data " + good + " --context 9", 2, "--context 9 is longer than the model's context of 8"},
      {"--data " + good + " --context -1", 2, "--context"},
      {"--data " + good + " --batch 0", 2, "--batch"},
      {"--data " + good + " --contxt 4", 2, "did you mean --context?"},
      {"--data " + (folder / "none.bin"), 3, "none.bin"},
      {"--data " + (folder / "other.bin"), 3, "token 10 at position 2"},
      {"--data " + (folder / "one.bin"), 3, "at least 2 tokens"},
      {"--data " + (folder / "text"), 3, "no tokenizer.json"},
  };
  const auto check_told_once = [&](const Mistake& mistake, int ranks) {
    INFO(mistake.flags << " on " << ranks);
    const Finished finished = run_shell(
        fmt::format("{}evaluate --model {} {}", on_ranks(ranks), folder.path(), mistake.flags));
    CHECK(finished.exit_code == mistake.code);
    CHECK(finished.out == "");
    const auto found = finished.err.find(mistake.message);
    CHECK(found != std::string::npos);
    CHECK(finished.err.find(mistake.message, found + 1) == std::string::npos);
  };
  for (const Mistake& mistake : mistakes) check_told_once(mistake, 0);
  check_told_once(mistakes.at(1), 2);
  check_told_once(mistakes.at(6), 2);
  CHECK(run_shell(fmt::format("evaluate --model {} --data {} >/dev/full", folder.path(), good))
            .exit_code == 5);
  CHECK(run_shell("evaluate --model /nowhere --data " + good).exit_code == 3);
}

TEST_CASE("evaluate: damaged weights are a loss that is no number") {
  const TemporaryFolder folder;
  const LoadedModel made = random_model(small_config(10, 8));
  made.parameters->values().data<float>()[3] = std::nanf("");
  save_model(folder.path(), made.model->config(), *made.parameters);
  std::vector<std::int32_t> ids(20, 0);
  write_token_file(folder / "data.bin", ids, 10);
  const Finished finished =
      run_shell(fmt::format("evaluate --model {} --data {}", folder.path(), folder / "data.bin"));
  CHECK(finished.exit_code == 4);
  CHECK(finished.out == "");
}

TEST_CASE("evaluate: help comes once on any number of ranks") {
  const Finished help = run_shell(on_ranks(2) + "evaluate --help");
  CHECK(help.exit_code == 0);
  const auto found = help.out.find("--context");
  REQUIRE(found != std::string::npos);
  CHECK(help.out.find("Measures the loss", found) == std::string::npos);
}
