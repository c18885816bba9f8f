// Several files as one stream of tokens: which files are meant, in which order, and that errors
// name the file and the place in it.
#include <numeric>

#include "tests/train/helpers.h"
#include "train/data/corpus.h"
#include "train/data/data_files.h"
#include "train/data/loader.h"
#include "train/data/token_file.h"

using namespace skep;
using Catch::Contains;
using Ids = std::vector<std::int32_t>;
using Names = std::vector<std::string>;

namespace {

Names base_names(const std::string& wanted) {
  Names names;
  for (const std::string& file : find_data_files(wanted))
    names.push_back(std::filesystem::path(file).filename());
  return names;
}

std::string shard(const Ids& ids) {
  return raw_bytes(std::vector<std::uint16_t>(ids.begin(), ids.end()));
}

/// Every token of a set: window 0 is as long as all of them.
Ids tokens_of(const Dataset& data) {
  const auto T = static_cast<std::size_t>(data.context());
  Ids all, inputs(T), targets(T);
  for (std::int64_t window = 0; window < data.windows(); ++window) {
    const auto valid = data.fill(window, inputs, targets);
    if (all.empty()) all.push_back(inputs[0]);
    all.insert(all.end(), targets.begin(), targets.begin() + valid);
  }
  return all;
}

Corpus load(const DataSection& data) {
  ModelSection model;
  model.context = 4;
  return load_corpus(data, model);
}

std::string load_error(ErrorKind kind, const DataSection& data) {
  return error_of(kind, [&] { load(data); });
}

}  // namespace

TEST_CASE("data files: lists, patterns and folders, sorted by name inside each") {
  const TemporaryFolder folder;
  for (const char* name : {"b.bin", "a.bin", "c10.bin", "c2.bin", "notes.txt", ".hidden.bin"})
    folder.file(name, "xx");
  std::filesystem::create_directory(folder / "d.bin");  // a folder is no file
  CHECK(base_names(folder / "b.bin") == Names{"b.bin"});
  CHECK(base_names(folder / "*.bin") == Names{"a.bin", "b.bin", "c10.bin", "c2.bin"});
  CHECK(base_names(folder / "c?.bin") == Names{"c2.bin"});
  CHECK(base_names(folder.path()) == Names{"a.bin", "b.bin", "c10.bin", "c2.bin", "notes.txt"});
  CHECK(base_names(folder / "notes.txt" + "," + (folder / "[ab].bin")) ==
        Names{"notes.txt", "a.bin", "b.bin"});
  CHECK(base_names(folder.file("odd,[name]*.txt", "xx")) == Names{"odd,[name]*.txt"});
  CHECK(describe_files({"a", "b", "c"}) == "3 files, a … c");
  const auto message = [&](const std::string& wanted) {
    return error_of(ErrorKind::data, [&] { find_data_files(wanted); });
  };
  CHECK(message(folder / "*.npy") == "no file is like " + (folder / "*.npy"));
  CHECK(message((folder / "a.bin") + "," + (folder / "z.bin")) ==
        "there is no file " + (folder / "z.bin") + ": name a text or a .bin file of tokens");
  CHECK_THAT(message((folder / "a.bin") + "," + (folder / "./*.bin")),
             Contains("a.bin is named twice"));
}

TEST_CASE("data files: shards are one stream, mapped, and the split may cut anywhere") {
  const TemporaryFolder folder;
  folder.file("0.bin", shard({0, 1, 2}));
  folder.file("1.bin", shard({3}));
  folder.file("2.bin", shard({4, 5, 6, 7, 8, 9}));
  for (const double fraction : {0.0, 0.2, 0.4}) {
    const Corpus corpus = load({folder.path(), "", fraction, "byte"});
    const int cut = static_cast<int>(10 * (1 - fraction));  // in 2.bin, or at the end
    Ids train(cut), validation(10 - cut);
    std::iota(train.begin(), train.end(), 0);
    std::iota(validation.begin(), validation.end(), cut);
    CHECK(tokens_of(corpus.train) == train);
    CHECK(tokens_of(corpus.validation) == validation);
    CHECK(corpus.vocab_size == 10);
    CHECK(corpus.train.hash() == Dataset(TokenStream::from_ids(train), 4).hash());
  }
  const Corpus corpus =
      load({folder / "[01].bin," + (folder / "2.bin"), folder / "*.bin", 0, "byte"});
  CHECK(corpus.train.targets() == 9);
  CHECK(corpus.validation.targets() == 9);
  CHECK_THAT(corpus.description, Contains("3 files, ") && Contains("2.bin: 10 tokens, raw uint16"));
}

TEST_CASE("token stream: copies and parts cross the borders of joined streams") {
  const Ids a{10, 11, 12}, b{70000}, c{14, 15};
  const std::vector<TokenStream> parts = {TokenStream::from_ids(a), TokenStream(),
                                          TokenStream::from_ids(b), TokenStream::from_ids(c)};
  const TokenStream all = TokenStream::joined(parts);
  const Ids expected{10, 11, 12, 70000, 14, 15};
  REQUIRE(all.size() == 6);
  CHECK(all.type() == TokenType::uint32);
  CHECK(all.largest() == 70000);
  CHECK(all.find_outside(70000) == 3);
  CHECK(all.find_outside(15) == 3);
  CHECK(all.find_outside(70001) == -1);
  CHECK(all.hash() == TokenStream::from_ids(expected).hash());
  for (std::int64_t first = 0; first <= 6; ++first)
    for (std::int64_t count = 0; count <= 6 - first; ++count) {
      const Ids wanted(expected.begin() + first, expected.begin() + first + count);
      Ids got(wanted.size()), of_part(wanted.size());
      all.copy(first, got);
      REQUIRE(got == wanted);
      const TokenStream part = all.part(first, count);
      REQUIRE(part.size() == count);
      part.copy(0, of_part);
      REQUIRE(of_part == wanted);
    }
  CHECK_THROWS_AS(all.part(5, 2), Error);
}

TEST_CASE("data files: texts are one stream, their alphabet is that of all") {
  const TemporaryFolder folder;
  folder.file("0.txt", "abca");
  folder.file("1.txt", "ä");
  folder.file("2.txt", "xyzäa");
  const Corpus corpus = load({folder.path(), "", 0.3, "char"});
  CHECK(corpus.vocab_size == 7);  // a b c x y z ä
  CHECK(corpus.tokenizer->decode(tokens_of(corpus.train)) == "abcaäxy");
  CHECK(corpus.tokenizer->decode(tokens_of(corpus.validation)) == "zäa");
  // "byte" reads the same bytes as from one file; cut at 7 of 10 characters, which is byte 8.
  const Corpus bytes = load({folder.path(), "", 0.3, "byte"});
  CHECK(bytes.tokenizer->decode(tokens_of(bytes.train)) == "abcaäxy");
}

TEST_CASE("data files: errors name the file and the place in it") {
  const TemporaryFolder folder;
  const std::string first = folder.file("0.bin", shard({0, 1, 2, 3, 4, 5}));
  const std::string second = folder.file("1.bin", shard({6, 7, 50, 9, 10, 60}));
  ModelSection model;
  model.context = 4;
  model.vocab = 50;
  const std::string wrong = ": token 50 at position 2 is outside the vocabulary of 50 ids";
  CHECK_THAT(error_of(ErrorKind::data,
                      [&] {
                        load_corpus({folder.path(), "", 0.3, "byte"}, model);
                      }),
             Contains(second + wrong));
  model.vocab = 60;  // in the part that validates, cut out of the middle of the second file
  CHECK_THAT(error_of(ErrorKind::data,
                      [&] {
                        load_corpus({folder.path(), "", 0.3, "byte"}, model);
                      }),
             Contains(second + ": token 60 at position 5"));
  const std::string text = folder.file("2.txt", "some text");
  CHECK(load_error(ErrorKind::data, {folder.path(), "", 0, "byte"}) ==
        "data.train: " + text + " is a text, but " + first +
            " is a file of tokens: name files of one kind");
  std::filesystem::remove(text);
  write_token_file(folder / "3.bin", Ids{1, 2, 3}, 100);
  CHECK_THAT(load_error(ErrorKind::data, {folder.path(), "", 0, "byte"}),
             Contains("3.bin is llm.c shard, uint16 (GPT-2), but " + first + " is raw uint16"));
  const TemporaryFolder texts;
  texts.file("0.txt", "abcdefgh");
  const std::string bad = texts.file("1.txt", "abc\xFF");
  CHECK(load_error(ErrorKind::data, {texts.path(), "", 0, "char"}) ==
        "data.train: " + bad +
            ": not UTF-8 at byte 3 (0xFF): convert the text, or use the tokenizer byte");
  texts.file("1.txt", "");
  CHECK(load_error(ErrorKind::data, {texts.path(), "", 0, "char"}) ==
        "data.train: " + bad + ": the file is empty; name a text to train on");
}

TEST_CASE("a token that changes on the disk during a run is met with its file and position") {
  const TemporaryFolder folder;
  folder.file("0.bin", shard({0, 1, 2, 3, 4, 5}));
  const std::string second = folder.file("1.bin", shard({6, 7, 8, 9}));
  const Corpus corpus = load({folder.path(), "", 0, "byte"});
  const Loader loader(corpus.train, 1, {1, 1, 1}, 0);
  const auto epoch = [&] {
    for (std::int64_t i = 0; i < loader.order().epoch_samples(); ++i) loader.micro_batch(i, 0);
  };
  CHECK_NOTHROW(epoch());
  std::fstream file(second, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4).write("\x0A\x00", 2).flush();  // token 2 becomes 10, of a vocabulary of 10
  CHECK(error_of(ErrorKind::data, epoch) ==
        second +
            ": token 10 at position 2 is outside the vocabulary of 10 ids: the file has "
            "changed since the run began");
}
