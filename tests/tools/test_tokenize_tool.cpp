// tokenize: ids by hand, files byte by byte, every text back as it was.
#include <nlohmann/json.hpp>

#include "tests/tools/process.h"

using namespace skep;

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string every_byte() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return bytes + bytes;
}

}  // namespace

TEST_CASE("tokenize ids: space-separated on one line, from a file and from standard input") {
  const TemporaryFolder folder;
  const std::string text = folder.file("text", "hi\n\xC3\xA9");
  CHECK(run_shell("tokenize ids --tokenizer byte " + text).out == "104 105 10 195 169\n");
  CHECK(run_shell("tokenize ids --tokenizer byte -", "AB").out == "65 66\n");
  // Characters in the order of their code points: line end, h, i, é.
  CHECK(run_shell("tokenize ids --tokenizer char " + text).out == "1 2 0 3\n");
  CHECK(run_shell("tokenize ids --tokenizer byte -", "").out == "\n");
}

TEST_CASE("tokenize encode: llm.c shards and nanoGPT files, byte by byte") {
  const TemporaryFolder folder;
  const std::string out = folder / "out.bin";
  CHECK(run_shell("tokenize encode --tokenizer byte - --out " + out, "AB").out ==
        out + ": 2 tokens, vocabulary 256\n");
  std::vector<std::int32_t> header(256);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = 2;
  CHECK(contents(out) == raw_bytes(header) + raw_bytes<std::uint16_t>({65, 66}));
  run_shell("tokenize encode --tokenizer byte - --format nanogpt --out " + out, "AB");
  CHECK(contents(out) == raw_bytes<std::uint16_t>({65, 66}));
}

TEST_CASE("tokenize decode: the text as it was, from token files and from ids") {
  const TemporaryFolder folder;
  const std::string text = folder.file("text", every_byte()), out = folder / "out.bin";
  for (const char* format : {"llmc", "nanogpt"}) {
    CHECK(run_shell(fmt::format("tokenize encode --tokenizer byte {} --out {} --format {}", text,
                                out, format))
              .exit_code == 0);
    CHECK(run_shell("tokenize decode --tokenizer byte " + out).out == every_byte());
  }
  CHECK(run_shell("tokenize decode --tokenizer byte -", "104, 105\n10 33").out == "hi\n!");
  CHECK(run_shell(fmt::format("tokenize ids --tokenizer byte {} | tokenize decode --tokenizer "
                              "byte -",
                              text))
            .out == every_byte());
}

TEST_CASE("tokenize train: a tokenizer.json that the other commands and runs read") {
  const TemporaryFolder folder;
  const std::string text = folder.file("text", "banane é"), made = folder / "new/tokenizer";
  const Finished trained =
      run_shell(fmt::format("tokenize train --kind char {} --out {}", text, made));
  CHECK(trained.err == "");
  CHECK(trained.out == made + "/tokenizer.json: char, 6 ids\n");
  // Space, a, b, e, n, é.
  for (const std::string& name : {made, made + "/tokenizer.json"})
    CHECK(run_shell("tokenize ids --tokenizer " + name + " -", "né a").out == "4 5 0 1\n");
  const auto json = nlohmann::json::parse(contents(made + "/tokenizer.json"));
  CHECK(json.at("model").at("vocab").at("é") == 5);
  CHECK(std::filesystem::exists(made + "/tokenizer_config.json"));
  // A checkpoint keeps its tokenizer with its model.
  run_shell(fmt::format("mkdir -p {0}/model && cp {1}/tokenizer.json {0}/model", folder / "step-1",
                        made));
  CHECK(run_shell("tokenize ids --tokenizer " + (folder / "step-1") + " -", "a").out == "1\n");
  CHECK(run_shell("tokenize train --kind byte --out " + (folder / "byte")).exit_code == 0);
  CHECK(run_shell("tokenize ids --tokenizer " + (folder / "byte") + " -", "\xFF").out == "255\n");
}

TEST_CASE("tokenize: mistakes are told in one line, with the exit code of their kind") {
  const TemporaryFolder folder;
  const std::string text = folder.file("text", "abc"), bytes = folder.file("bytes", "a\xFF");
  const std::string ids = folder.file("ids.bin", raw_bytes<std::uint16_t>({65, 300}));
  struct Mistake {
    std::string command;
    int code;
    std::string message;
  };
  const std::vector<Mistake> mistakes = {
      {"", 2, "name a command: ids, encode, decode, train"},
      {"endcode", 2, "did you mean encode?"},
      {"ids " + text, 2, "--tokenizer"},
      {"ids --tokenizer byte", 2, "FILE"},
      {"ids --tokeniser byte " + text, 2, "did you mean --tokenizer?"},
      {"ids --tokenizer byte /nowhere/text", 3, "/nowhere/text"},
      {"ids --tokenizer /nowhere/t.json " + text, 3, "/nowhere/t.json is neither byte nor char"},
      {"ids --tokenizer char " + bytes, 3, "not UTF-8 at byte 1"},
      {"encode --tokenizer byte - --out " + (folder / "x.bin"), 3, "the text is empty"},
      {"encode --tokenizer byte " + text + " --out /nowhere/x.bin", 5, "/nowhere/x.bin"},
      {"encode --tokenizer byte " + text + " --format raw --out x", 2, "--format must be"},
      {"decode --tokenizer byte " + ids, 3, "token 300 at position 1"},
      {"decode --tokenizer char " + ids, 2, "which characters?"},
      {"train --kind word --out " + (folder / "t"), 2, "--kind must be"},
      {"train --kind char --out " + (folder / "t"), 2, "needs the FILE"},
  };
  for (const Mistake& mistake : mistakes) {
    INFO(mistake.command);
    const Finished finished = run_shell("tokenize " + mistake.command);
    CHECK(finished.exit_code == mistake.code);
    CHECK(finished.out == "");
    CHECK_THAT(finished.err, Catch::StartsWith("tokenize: ") && Catch::Contains(mistake.message));
    CHECK(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
  }
  CHECK(run_shell("tokenize decode --tokenizer byte -", "65 256").exit_code == 2);
  for (const char* name : {"ids", "encode", "decode", "train"}) {
    CHECK_THAT(run_shell("tokenize --help").out, Catch::Contains(name));
    CHECK_THAT(run_shell(fmt::format("tokenize {} --help", name)).out,
               Catch::Contains("--") && Catch::Contains("FILE"));
  }
}
