#include <rapidcheck.h>

#include <rapidcheck/catch.h>

#include "engine/core/files.h"
#include "tests/train/helpers.h"
#include "train/data/token_file.h"

using namespace skep;
using Catch::Contains;
using Ids = std::vector<std::int32_t>;

namespace {

Ids all_ids(const TokenStream& tokens) {
  Ids ids(static_cast<std::size_t>(tokens.size()));
  tokens.copy(0, ids);
  return ids;
}

/// An llm.c header as the format's description has it: 256 int32, the first three used.
std::string header(std::int32_t magic, std::int32_t version, std::int32_t count) {
  std::vector<std::int32_t> words(256);
  words[0] = magic;
  words[1] = version;
  words[2] = count;
  return raw_bytes(words);
}

std::string ids16(const std::vector<std::uint16_t>& ids) { return raw_bytes(ids); }
std::string ids32(const std::vector<std::uint32_t>& ids) { return raw_bytes(ids); }

std::string open_error(const std::string& bytes) {
  const TemporaryFolder folder;
  const std::string path = folder.file("x.bin", bytes);
  const std::string message = error_of(ErrorKind::data, [&] { open_token_file(path); });
  CHECK(message.starts_with(path + ": "));
  return message.substr(path.size() + 2);
}

}  // namespace

TEST_CASE("token file: the three layouts are told apart and read") {
  const TemporaryFolder folder;
  const TokenFile raw = open_token_file(folder.file("raw.bin", ids16({1, 50256, 65535})));
  CHECK(all_ids(raw.tokens) == Ids{1, 50256, 65535});
  CHECK(raw.description == "raw uint16 (nanoGPT)");
  const TokenFile gpt2 =
      open_token_file(folder.file("gpt2.bin", header(20240520, 1, 2) + ids16({7, 65535})));
  CHECK(all_ids(gpt2.tokens) == Ids{7, 65535});
  CHECK(gpt2.description == "llm.c shard, uint16 (GPT-2)");
  const TokenFile llama =
      open_token_file(folder.file("llama.bin", header(20240801, 7, 2) + ids32({128255, 65536})));
  CHECK(all_ids(llama.tokens) == Ids{128255, 65536});
  CHECK(llama.description == "llm.c shard, uint32 (Llama-3)");
}

TEST_CASE("token file: text or tokens") {
  const TemporaryFolder folder;
  CHECK(is_token_file(folder.file("a.bin", "text")));
  CHECK(is_token_file(folder.file("shard", header(20240520, 1, 0))));
  CHECK_FALSE(is_token_file(folder.file("a.txt", "text")));
  CHECK_FALSE(is_token_file(folder.file("short", "x")));
  CHECK_FALSE(is_token_file(folder.file("empty", "")));
}

TEST_CASE("token file: every damage is refused in one line") {
  const std::string good = header(20240520, 1, 3) + ids16({1, 2, 3});
  CHECK(open_error("") == "the file is empty; prepare it again");
  CHECK_THAT(open_error("abc"), Contains("3 bytes are no whole number of uint16 tokens"));
  CHECK(open_error(good.substr(0, good.size() - 1)) ==
        "truncated: 3 tokens take 1030 bytes, the file has 1029; prepare it again");
  CHECK(open_error(good + "xx") ==
        "bytes left over: 3 tokens take 1030 bytes, the file has 1032; prepare it again");
  CHECK_THAT(open_error(good.substr(0, 1023)),
             Contains("truncated: an llm.c header has 1024 bytes"));
  CHECK_THAT(open_error(good.substr(0, 4)), Contains("truncated"));
  CHECK(open_error(header(20240520, 2, 0)) ==
        "llm.c magic 20240520 with version 2, expected version 1; prepare it again");
  CHECK_THAT(open_error(header(20240801, 1, 0)), Contains("expected version 7"));
  CHECK(open_error(header(20240326, 3, 0)) ==
        "an llm.c file with magic 20240326, but token files have 20240520 or 20240801");
  CHECK_THAT(open_error(header(20240520, 1, -1)), Contains("the header says -1 tokens"));
  CHECK_THAT(open_error(header(20240801, 7, 0x7FFFFFFF)), Contains("truncated: 2147483647 tokens"));
  const TemporaryFolder folder;
  CHECK_THAT(error_of(ErrorKind::data, [&] { open_token_file(folder.path()); }),
             Contains("it is a directory"));
  CHECK_THAT(error_of(ErrorKind::data, [&] { open_token_file(folder / "no.bin"); }),
             Contains("No such file"));
}

TEST_CASE("token file: ids outside the vocabulary are refused with their position") {
  const TemporaryFolder folder;
  const TokenStream tokens = open_token_file(folder.file("x.bin", ids16({0, 9, 10, 11}))).tokens;
  CHECK_NOTHROW(require_ids_below(tokens, 12));
  CHECK_THAT(error_of(ErrorKind::data, [&] { require_ids_below(tokens, 10); }),
             Contains("x.bin: token 10 at position 2 is outside the vocabulary of 10"));
  const TokenStream huge =
      open_token_file(folder.file("y.bin", header(20240801, 7, 2) + ids32({5, 0xFFFFFFFF}))).tokens;
  CHECK_THAT(error_of(ErrorKind::data, [&] { require_ids_below(huge, 128256); }),
             Contains("token 4294967295 at position 1"));
}

TEST_CASE("token file: written byte for byte as the format says") {
  const TemporaryFolder folder;
  const std::string path = folder / "out.bin";
  write_token_file(path, Ids{1, 65535}, 65536);
  CHECK(read_file(path) == header(20240520, 1, 2) + ids16({1, 65535}));
  write_token_file(path, Ids{1, 65536}, 65537);  // one more id: wider, never wrapped
  CHECK(read_file(path) == header(20240801, 7, 2) + ids32({1, 65536}));
  write_token_file(path, Ids{}, 256);
  CHECK(open_token_file(path).tokens.size() == 0);
  CHECK_THAT(error_of(ErrorKind::data,
                      [&] {
                        write_token_file(path, Ids{1, 256}, 256);
                      }),
             Contains("token 256 at position 1 is outside the vocabulary of 256"));
  CHECK_THAT(error_of(ErrorKind::data, [&] { write_token_file(path, Ids{-1}, 256); }),
             Contains("token -1 at position 0"));
}

TEST_CASE("token file: random bytes never crash the reader") {
  const TemporaryFolder folder;
  const std::string good = header(20240801, 7, 5) + ids32({1, 2, 3, 4, 5});
  rc::prop("damaged files", [&] {
    std::string bytes = *rc::gen::arbitrary<bool>() ? good : *rc::gen::arbitrary<std::string>();
    for (int change = *rc::gen::inRange(0, 4); change > 0 && !bytes.empty(); --change)
      bytes[*rc::gen::inRange<std::size_t>(0, std::min<std::size_t>(bytes.size(), 16))] =
          *rc::gen::arbitrary<char>();
    bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() + 3));
    try {
      const TokenFile file = open_token_file(folder.file("x.bin", bytes));
      RC_ASSERT(file.tokens.size() * 2 <= static_cast<std::int64_t>(bytes.size()));
      RC_ASSERT(all_ids(file.tokens).size() == static_cast<std::size_t>(file.tokens.size()));
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == ErrorKind::data);
      RC_ASSERT(std::string(error.what()).find('\n') == std::string::npos);
    }
  });
}

TEST_CASE("token stream: narrowest storage, parts and scans") {
  const TokenStream narrow = TokenStream::from_ids(Ids{3, 1, 65535});
  CHECK(narrow.type() == TokenType::uint16);
  const TokenStream wide = TokenStream::from_ids(Ids{3, 1, 65536, 2});
  CHECK(wide.type() == TokenType::uint32);
  CHECK(wide.largest() == 65536);
  CHECK(wide.find_outside(65536) == 2);
  CHECK(wide.find_outside(65537) == -1);
  CHECK(all_ids(wide.part(1, 2)) == Ids{1, 65536});
  CHECK(wide.part(4, 0).size() == 0);
  CHECK(TokenStream().largest() == -1);
  Ids out(2);
  CHECK_THROWS_AS(wide.copy(3, out), Error);
  CHECK_THROWS_AS(wide.part(2, 3), Error);
}
