#include "tests/train/helpers.h"
#include "train/data/corpus.h"
#include "train/data/token_file.h"

using namespace skep;
using Catch::Contains;
using Ids = std::vector<std::int32_t>;

namespace {

ModelSection model_of(std::int64_t context, std::int64_t vocab = 0) {
  ModelSection model;
  model.context = context;
  model.vocab = vocab;
  return model;
}

std::string numbers(std::size_t count) {
  std::string text;
  while (text.size() < count) text += std::to_string(text.size()) + ' ';
  return text.substr(0, count);
}

/// The inputs of every window in order, without padding: the tokens but the last.
Ids inputs_of(const Dataset& data) {
  Ids all;
  const auto T = static_cast<std::size_t>(data.context());
  for (std::int64_t window = 0; window < data.windows(); ++window) {
    Ids inputs(T), targets(T);
    inputs.resize(static_cast<std::size_t>(data.fill(window, inputs, targets)));
    all.insert(all.end(), inputs.begin(), inputs.end());
  }
  return all;
}

std::string load_error(ErrorKind kind, const DataSection& data, const ModelSection& model) {
  return error_of(kind, [&] { load_corpus(data, model); });
}

}  // namespace

TEST_CASE("corpus: the first 90 % of the characters train") {
  const TemporaryFolder folder;
  const std::string text = numbers(109);  // int(109 · 0.9) = 98
  const DataSection data{folder.file("input.txt", text), "", 0.1, "char"};
  const Corpus corpus = load_corpus(data, model_of(8));
  CHECK(corpus.vocab_size == 11);  // ten digits and the space
  CHECK(corpus.train.targets() == 97);
  CHECK(corpus.validation.targets() == 10);
  CHECK(corpus.tokenizer->decode(inputs_of(corpus.train)) == text.substr(0, 97));
  CHECK(corpus.tokenizer->decode(inputs_of(corpus.validation)) == text.substr(98, 10));
  CHECK_THAT(corpus.description, Contains("input.txt: 98 tokens, text read by tokenizer char"));
}

TEST_CASE("split_offset: characters, not bytes, unless the text has none") {
  using Texts = std::vector<std::string_view>;
  CHECK(split_offset(Texts{"ääääääääää"}, 0.1) == 18);  // 9 characters of two bytes
  CHECK(split_offset(Texts{"0123456789"}, 0.1) == 9);
  CHECK(split_offset(Texts{"0123456789"}, 0) == 10);
  CHECK(split_offset(Texts{"ä12345678"}, 0.5) == 5);  // 4 of 9 characters
  CHECK(split_offset(Texts{"\xFF\xFE\xFD\xFC"}, 0.5) == 2);
  CHECK(split_offset(Texts{""}, 0.1) == 0);
  CHECK(split_offset(Texts{"äää", "äääää", "ää"}, 0.1) == 18);
  CHECK(split_offset(Texts{"ääää", "\xFF\xFF"}, 0.5) == 5);  // 5 of 10 bytes
}

TEST_CASE("corpus: the vocabulary comes from the whole file, before the split") {
  const TemporaryFolder folder;
  const DataSection data{folder.file("input.txt", std::string(95, 'a') + "bcdef"), "", 0.1, "char"};
  CHECK(load_corpus(data, model_of(8)).vocab_size == 6);
}

TEST_CASE("corpus: a validation file takes the whole training file") {
  const TemporaryFolder folder;
  DataSection data{folder.file("train.txt", numbers(100)), folder.file("val.txt", "12 34"), 0.1,
                   "char"};
  const Corpus corpus = load_corpus(data, model_of(8));
  CHECK(corpus.train.targets() == 99);
  CHECK(corpus.tokenizer->decode(inputs_of(corpus.validation)) == "12 3");
  folder.file("val.txt", "12 x");
  CHECK(load_error(ErrorKind::data, data, model_of(8)) ==
        "data.val: " + data.val +
            ": character U+0078 at byte 3 is not among the 11 characters of the tokenizer");
}

TEST_CASE("corpus: byte text of any bytes, and no validation when asked for none") {
  const TemporaryFolder folder;
  const DataSection data{folder.file("input.txt", std::string(50, '\xFF')), "", 0, "byte"};
  const Corpus corpus = load_corpus(data, model_of(8, 300));
  CHECK(corpus.vocab_size == 300);  // padded
  CHECK(corpus.train.targets() == 49);
  CHECK(corpus.validation.windows() == 0);
  CHECK_THAT(corpus.description, Contains("val: none"));
}

TEST_CASE("corpus: a saved tokenizer is used as it is") {
  const TemporaryFolder folder;
  tokenizer_for_text("char", "0123456789 xyz")->save(folder.path());
  const DataSection data{folder.file("input.txt", numbers(100)), "", 0.1, folder.path()};
  const Corpus corpus = load_corpus(data, model_of(8));
  CHECK(corpus.vocab_size == 14);
  CHECK(corpus.tokenizer->name() == "char");
}

TEST_CASE("corpus: token files carry their ids, the vocabulary follows from the largest") {
  const TemporaryFolder folder;
  std::vector<std::uint16_t> ids(100, 5);
  ids[99] = 41;
  DataSection data{folder.file("train.bin", raw_bytes(ids)), "", 0.1, "byte"};
  const Corpus corpus = load_corpus(data, model_of(8));
  CHECK(corpus.tokenizer == nullptr);
  CHECK(corpus.vocab_size == 42);
  CHECK(corpus.train.targets() == 89);
  CHECK(corpus.validation.targets() == 9);
  CHECK_THAT(corpus.description, Contains("90 tokens, raw uint16 (nanoGPT)"));
  CHECK(load_corpus(data, model_of(8, 64)).vocab_size == 64);
  CHECK_THAT(load_error(ErrorKind::data, data, model_of(8, 41)),
             Contains("train.bin: token 41 at position 99 is outside the vocabulary of 41"));
  data.tokenizer = "char";
  CHECK_THAT(load_error(ErrorKind::usage, data, model_of(8)),
             Contains("name the tokenizer.json the tokens were made with"));
  data.tokenizer = folder.path();
  tokenizer_for_text("char", "abc")->save(folder.path());
  CHECK_THAT(load_error(ErrorKind::data, data, model_of(8, 64)),
             Contains("token 5 at position 0 is outside the vocabulary of 3"));
}

TEST_CASE("corpus: every problem is one line that names key, file and remedy") {
  const TemporaryFolder folder;
  const ModelSection model = model_of(64);
  const auto message = [&](const DataSection& data) {
    return load_error(ErrorKind::data, data, model);
  };
  CHECK(message({"/nope.txt", "", 0.1, "byte"}) ==
        "data.train: there is no file /nope.txt: name a text or a .bin file of tokens");
  CHECK_THAT(message({folder.path(), "", 0.1, "byte"}),
             Contains("data.train: the folder") && Contains("holds no files"));
  CHECK_THAT(message({folder.file("empty.txt", ""), "", 0.1, "byte"}),
             Contains("the file is empty"));
  CHECK_THAT(message({folder.file("empty.bin", ""), "", 0.1, "byte"}),
             Contains("the file is empty"));
  const std::string brief = folder.file("short.txt", numbers(50));
  CHECK(
      message({brief, "", 0.1, "byte"}) ==
      "data.train: " + brief +
          " is too short: a window of model.context 64 needs 65 tokens, found 45 beside the 5 for "
          "validation; use more data or a smaller context");
  const std::string text = folder.file("text.txt", numbers(100));
  CHECK_THAT(message({text, "", 0.001, "byte"}),
             Contains("data.val_fraction: validation needs at least 2 tokens, found 1"));
  CHECK_THAT(message({text, "/nope.txt", 0.1, "byte"}), Contains("data.val: there is no file"));
  CHECK_THAT(message({text, folder / "empty.txt", 0.1, "byte"}),
             Contains("validation needs at least 2 tokens, found 0"));
  CHECK(message({text, "", 0.1, "gpt9"}) ==
        "data.tokenizer: gpt9 is neither byte nor char nor the path of a tokenizer.json");
  CHECK_THAT(message({folder.file("bad.txt", numbers(70) + "\xFF"), "", 0.1, "char"}),
             Contains("bad.txt: not UTF-8 at byte 70"));
  CHECK(load_error(ErrorKind::usage, {text, "", 0.1, "byte"}, model_of(64, 255)) ==
        "model.vocab 255 is less than the 256 ids of tokenizer byte; use 0, or 256 or more");
  const std::string tokens = folder.file("t.bin", raw_bytes(std::vector<std::uint16_t>(100, 1)));
  CHECK_THAT(load_error(ErrorKind::usage, {tokens, text, 0.1, "byte"}, model),
             Contains("data.val: " + text + " is a text, but data.train holds tokens"));
}
