#include "train/data/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "train/data/byte_tokenizer.h"
#include "train/data/char_tokenizer.h"
#include "train/data/text_file.h"
#include "train/data/token_file.h"
#include "train/data/utf8.h"

namespace skep {
namespace {

/// One set of tokens, where it comes from and how to speak of it.
struct Source {
  TokenStream tokens;
  std::string path;
  std::string description;
  std::int64_t first = 0;  ///< position of tokens[0] in the file
};

struct Sources {
  Source train;
  Source validation;
};

/// Runs `read` and puts `prefix` before the message of an error in it.
template <class Read>
auto explaining(const std::string& prefix, Read&& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(error.kind(), prefix + ": " + error.what());
  }
}

void require_exists(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown))
    fail(ErrorKind::data, "there is no file {}: name a text or a .bin file of tokens", path);
}

bool names_a_path(const std::string& tokenizer) {
  return tokenizer != "byte" && tokenizer != "char";
}

std::shared_ptr<const Tokenizer> load_named_tokenizer(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown))
    fail(ErrorKind::data,
         "data.tokenizer: {} is neither byte nor char nor the path of a "
         "tokenizer.json",
         path);
  return explaining("data.tokenizer", [&] { return load_tokenizer(path); });
}

/// `first`: where the text begins in the file; offsets in errors count from there.
Source encode(const Tokenizer& tokenizer, std::string_view text, const std::string& path,
              std::size_t first = 0) {
  return explaining(first == 0 ? path : fmt::format("{}, from byte {} on", path, first), [&] {
    return Source{TokenStream::from_ids(tokenizer.encode(text)), path,
                  fmt::format("text read by tokenizer {} ({} ids)", tokenizer.name(),
                              tokenizer.vocab_size())};
  });
}

Source open_tokens(const std::string& path) {
  TokenFile file = open_token_file(path);
  return {std::move(file.tokens), path, std::move(file.description)};
}

/// The training text, cut in two when the validation set is its end.
Sources read_text(const DataSection& data, std::shared_ptr<const Tokenizer>& tokenizer) {
  const MappedFile file(data.train);
  const std::string_view text = file.text();
  if (text.empty())
    fail(ErrorKind::data, "{}: the file is empty; name a text to train on", data.train);
  explaining(data.train, [&] { require_text(text); });
  if (tokenizer == nullptr)
    tokenizer = explaining(data.train, [&] { return tokenizer_for_text(data.tokenizer, text); });
  const bool split = data.val.empty();
  const std::size_t cut = split ? split_offset(text, data.val_fraction) : text.size();
  Sources sources{encode(*tokenizer, text.substr(0, cut), data.train), {}};
  if (split) sources.validation = encode(*tokenizer, text.substr(cut), data.train, cut);
  return sources;
}

/// The training token file, cut in two likewise.
Sources read_tokens(const DataSection& data) {
  if (data.tokenizer == "char")
    fail(ErrorKind::usage,
         "{} holds tokens, and the vocabulary of data.tokenizer = \"char\" comes from a text: name "
         "the tokenizer.json the tokens were made with",
         data.train);
  const Source whole = open_tokens(data.train);
  const std::int64_t count = whole.tokens.size();
  const auto share =
      static_cast<std::int64_t>(static_cast<double>(count) * (1 - data.val_fraction));
  const std::int64_t cut = data.val.empty() ? share : count;
  Sources sources{whole, whole};
  sources.train.tokens = whole.tokens.part(0, cut);
  sources.validation.tokens = whole.tokens.part(cut, count - cut);
  sources.validation.first = cut;
  return sources;
}

Sources read_train(const DataSection& data, std::shared_ptr<const Tokenizer>& tokenizer) {
  require_exists(data.train);
  return is_token_file(data.train) ? read_tokens(data) : read_text(data, tokenizer);
}

Source read_validation(const std::string& path, const Tokenizer* tokenizer) {
  require_exists(path);
  if (is_token_file(path)) return open_tokens(path);
  if (tokenizer == nullptr)
    fail(ErrorKind::usage,
         "{} is a text, but data.train holds tokens of an unknown tokenizer: name it with "
         "data.tokenizer",
         path);
  const MappedFile file(path);
  explaining(path, [&] { require_text(file.text()); });
  return encode(*tokenizer, file.text(), path);
}

/// Beyond any tokenizer's; an id above it is damage.
constexpr std::int64_t largest_vocabulary = std::int64_t{1} << 21;

void require_known(const Sources& sources, std::int64_t vocab_size) {
  for (const Source* source : {&sources.train, &sources.validation})
    require_ids_below(source->tokens, vocab_size, source->path, source->first);
}

/// The rows of the embedding: model.vocab, or what the ids need.
std::int64_t choose_vocab(const Sources& sources, const Tokenizer* tokenizer,
                          std::int64_t configured) {
  const std::int64_t needed =
      tokenizer != nullptr
          ? tokenizer->vocab_size()
          : std::max(sources.train.tokens.largest(), sources.validation.tokens.largest()) + 1;
  if (configured == 0) {
    require_known(sources, largest_vocabulary);
    return needed;
  }
  if (tokenizer != nullptr && configured < needed)
    fail(ErrorKind::usage,
         "model.vocab {} is less than the {} ids of tokenizer {}; use 0, or {} or more", configured,
         needed, tokenizer->name(), needed);
  return configured;
}

void check_lengths(const Sources& sources, const DataSection& data, std::int64_t context) {
  if (sources.train.tokens.size() < context + 1)
    fail(ErrorKind::data,
         "data.train: {} is too short: a window of model.context {} needs {} tokens, found {}{}; "
         "use more data or a smaller context",
         data.train, context, context + 1, sources.train.tokens.size(),
         data.val.empty() && data.val_fraction > 0
             ? fmt::format(" beside the {} for validation", sources.validation.tokens.size())
             : "");
  const bool wanted = !data.val.empty() || data.val_fraction > 0;
  if (wanted && sources.validation.tokens.size() < 2)
    fail(
        ErrorKind::data,
        "{}: validation needs at least 2 tokens, found {}; use more data, or data.val_fraction = 0 "
        "for none",
        data.val.empty() ? "data.val_fraction" : "data.val: " + data.val,
        sources.validation.tokens.size());
}

std::string describe(const Sources& sources) {
  const auto line = [](const Source& source) {
    return fmt::format("{}: {} tokens, {}", source.path, source.tokens.size(), source.description);
  };
  const bool has_validation = sources.validation.tokens.size() > 0;
  return "train: " + line(sources.train) +
         "\nval: " + (has_validation ? line(sources.validation) : "none");
}

}  // namespace

Corpus load_corpus(const DataSection& data, const ModelSection& model) {
  Corpus corpus{};
  if (names_a_path(data.tokenizer)) corpus.tokenizer = load_named_tokenizer(data.tokenizer);
  Sources sources = explaining("data.train", [&] { return read_train(data, corpus.tokenizer); });
  const Tokenizer* tokenizer = corpus.tokenizer.get();
  if (!data.val.empty())
    sources.validation =
        explaining("data.val", [&] { return read_validation(data.val, tokenizer); });
  check_lengths(sources, data, model.context);
  corpus.vocab_size = choose_vocab(sources, tokenizer, model.vocab);
  // A known tokenizer's ids are the limit even where the embedding is padded beyond them.
  corpus.known_ids = tokenizer != nullptr ? tokenizer->vocab_size() : corpus.vocab_size;
  require_known(sources, corpus.known_ids);
  corpus.description = describe(sources);
  corpus.train = Dataset(std::move(sources.train.tokens), model.context);
  corpus.validation = Dataset(std::move(sources.validation.tokens), model.context);
  return corpus;
}

std::shared_ptr<const Tokenizer> tokenizer_for_text(const std::string& name,
                                                    std::string_view text) {
  if (name == "byte") return std::make_shared<ByteTokenizer>();
  if (name == "char") return std::make_shared<CharTokenizer>(CharTokenizer::from_text(text));
  return load_named_tokenizer(name);
}

std::size_t split_offset(std::string_view text, double validation_fraction) {
  const auto share = [&](std::size_t count) {
    return static_cast<std::size_t>(static_cast<double>(count) * (1 - validation_fraction));
  };
  if (find_invalid_utf8(text)) return share(text.size());
  const auto starts_character = [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  };
  const auto characters = std::count_if(text.begin(), text.end(), starts_character);
  std::size_t left = share(static_cast<std::size_t>(characters));
  std::size_t offset = 0;
  for (; offset < text.size(); ++offset)
    if (starts_character(text[offset]) && left-- == 0) break;
  return offset;
}

}  // namespace skep
