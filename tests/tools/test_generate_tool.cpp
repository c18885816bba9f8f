// generate as users run it: the formats others read, and the exit codes.
#include "tests/tools/models.h"
#include "tests/tools/process.h"
#include "train/data/byte_tokenizer.h"
#include "train/data/char_tokenizer.h"

using namespace skep;

namespace {

// A folder with a random model over the characters "abc…j".
struct CharModel {
  CharModel() {
    const LoadedModel made = random_model(small_config(10, 8));
    save_model(folder.path(), made.model->config(), *made.parameters);
    CharTokenizer(U"abcdefghij").save(folder.path());
  }
  Finished generate(const std::string& flags) const {
    return run_shell(fmt::format("generate --model {} {}", folder.path(), flags));
  }
  TemporaryFolder folder;
};

std::string letters(const std::string& ids) {
  std::istringstream in(ids);
  std::string text;
  for (int id; in >> id;) text += static_cast<char>('a' + id);
  return text;
}

}  // namespace

TEST_CASE("generate: ids on one line, the prompt's first; text spells the same") {
  const CharModel model;
  const Finished ids = model.generate("--prompt-ids 1,2,3 --tokens 20 --temperature 0 --ids");
  CHECK(ids.err == "");
  CHECK(ids.exit_code == 0);
  CHECK(ids.out.starts_with("1 2 3 "));
  CHECK(std::count(ids.out.begin(), ids.out.end(), ' ') == 22);
  CHECK(ids.out.back() == '\n');
  CHECK(std::count(ids.out.begin(), ids.out.end(), '\n') == 1);
  const Finished text = model.generate("--prompt bcd --tokens 20 --temperature 0");
  CHECK(text.out == letters(ids.out) + "\n");
}

TEST_CASE("generate: --no-cache and a second run give the same; another seed does not") {
  const CharModel model;
  const std::string flags = "--prompt abc --tokens 30 --temperature 1.5 --top-k 6 --top-p 0.95 ";
  const Finished first = model.generate(flags + "--seed 5");
  CHECK(first.exit_code == 0);
  CHECK(first.out.size() == 3 + 30 + 1);
  CHECK(first.out == model.generate(flags + "--seed 5").out);
  CHECK(first.out == model.generate(flags + "--seed 5 --no-cache").out);
  CHECK(first.out != model.generate(flags + "--seed 6").out);
}

TEST_CASE("generate: no tokens are the prompt alone; only the first rank speaks") {
  const CharModel model;
  CHECK(model.generate("--prompt abc --tokens 0").out == "abc\n");
  const Finished ranks = run_shell(fmt::format(
      "{} -np 2 generate --model {} --prompt abc --tokens 0", SKEP_MPIRUN, model.folder.path()));
  CHECK(ranks.out == "abc\n");
  CHECK(ranks.exit_code == 0);
}

TEST_CASE("generate: bytes that are no UTF-8 are printed as they are") {
  const TemporaryFolder folder;
  const LoadedModel made = random_model(small_config(256, 8));
  save_model(folder.path(), made.model->config(), *made.parameters);
  ByteTokenizer().save(folder.path());
  const std::string command =
      fmt::format("generate --model {} --prompt-ids 255,0,195 --tokens 20 ", folder.path());
  const Finished text = run_shell(command), ids = run_shell(command + "--ids");
  std::istringstream numbers(ids.out);
  std::string bytes;
  for (int id; numbers >> id;) bytes += static_cast<char>(id);
  CHECK(bytes.size() == 23);
  CHECK(text.out == bytes + "\n");
}

TEST_CASE("generate: a checkpoint folder will do, and a folder without a tokenizer for ids") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "model");
  const LoadedModel made = random_model(small_config(10, 8));
  save_model(folder / "model", made.model->config(), *made.parameters);
  const std::string command = fmt::format("generate --model {} --tokens 2 ", folder.path());
  const Finished ids = run_shell(command + "--prompt-ids 4 --ids");
  CHECK(ids.exit_code == 0);
  CHECK(ids.err == "");
  const Finished no_text = run_shell(command + "--prompt-ids 4");
  CHECK(no_text.out.starts_with("4 "));
  CHECK_THAT(no_text.err, Catch::Contains("no tokenizer.json"));
  const Finished prompt = run_shell(command + "--prompt abc");
  CHECK(prompt.exit_code == 3);
  CHECK_THAT(prompt.err, Catch::Contains("no tokenizer.json"));
}

TEST_CASE("generate: a tokenizer that is not the model's is refused") {
  const CharModel model;
  ByteTokenizer().save(model.folder.path());
  const Finished refused = model.generate("--prompt abc");
  CHECK(refused.exit_code == 3);
  CHECK_THAT(refused.err, Catch::Contains("256 ids, the model only 10"));
}

TEST_CASE("generate: mistakes are told in one line, with the exit code of their kind") {
  const CharModel model;
  struct Mistake {
    std::string flags;
    int code;
    std::string message;
  };
  const std::vector<Mistake> mistakes = {
      {"", 2, "no prompt"},
      {"--prompt a --prompt-ids 1", 2, "both"},
      {"--prompt ''", 2, "at least one token"},
      {"--prompt-ids ''", 2, "at least one token"},
      {"--prompt-ids ,", 2, "a token id is missing"},
      {"--prompt-ids 1,,2", 2, "missing beside a comma at position 1"},
      {"--prompt a --seed -1", 2, "--seed must be 0 or more, not -1"},
      {"--prompt a --seed 1.5", 2, "--seed must be an integer, not \"1.5\""},
      {"--prompt-ids 1,10,2", 2, "token 10 at position 1 is outside the vocabulary of 10"},
      {"--prompt-ids 1,-1", 2, "token -1 at position 1"},
      {"--prompt-ids 1,x", 2, "\"x\" at position 1"},
      {"--prompt xyz", 3, "U+0078"},
      {"--prompt a --tokens -1", 2, "--tokens"},
      {"--prompt a --tokens many", 2, "--tokens"},
      {"--prompt a --temperature -1", 2, "--temperature"},
      {"--prompt a --temperature nan", 2, "--temperature"},
      {"--prompt a --top-k -2", 2, "--top-k"},
      {"--prompt a --top-p 0", 2, "--top-p"},
      {"--prompt a --top-p 1.5", 2, "--top-p"},
      {"--prompt a --temprature 1", 2, "did you mean --temperature?"},
      {"--prompt --ids", 2, "--prompt needs a value"},
      {"--prompt a b", 2, "unexpected argument b"},
  };
  for (const Mistake& mistake : mistakes) {
    INFO(mistake.flags);
    const Finished finished = model.generate(mistake.flags);
    CHECK(finished.exit_code == mistake.code);
    CHECK(finished.out == "");
    CHECK_THAT(finished.err, Catch::StartsWith("generate: ") && Catch::Contains(mistake.message));
    CHECK(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
  }
}

TEST_CASE("generate: a missing model, a full disk, help") {
  const Finished missing = run_shell("generate --model /nowhere --prompt a");
  CHECK(missing.exit_code == 3);
  CHECK_THAT(missing.err, Catch::Contains("/nowhere"));
  CHECK_THAT(run_shell("generate --modle x").err, Catch::Contains("did you mean --model?"));
  CHECK(run_shell("generate --prompt a").exit_code == 2);
  const CharModel model;
  CHECK(model.generate("--prompt a >/dev/full").exit_code == 5);
  const Finished help = run_shell("generate --help");
  CHECK(help.exit_code == 0);
  for (const char* flag : {"--model", "--prompt-ids", "--temperature", "--top-k", "--no-cache"})
    CHECK_THAT(help.out, Catch::Contains(flag));
}
