#include "train/data/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "train/data/byte_tokenizer.h"
#include "train/data/char_tokenizer.h"
#include "train/data/data_files.h"
#include "train/data/text_file.h"
#include "train/data/token_file.h"
#include "train/data/utf8.h"

namespace skep {
namespace {

/// One set of tokens and how to speak of it.
struct Source {
  TokenStream tokens;
  std::string files;
  std::string description;
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

/// Texts, mapped; none is empty.
struct Texts {
  std::vector<std::string> files;
  std::vector<std::unique_ptr<MappedFile>> mapped;
  std::vector<std::string_view> texts;
};

Texts map_texts(std::vector<std::string> files) {
  Texts all{std::move(files), {}, {}};
  for (const std::string& file : all.files) {
    all.mapped.push_back(std::make_unique<MappedFile>(file));
    all.texts.push_back(all.mapped.back()->text());
    explaining(file, [&] { require_text(all.texts.back()); });
  }
  return all;
}

/// The characters of all files together.
std::shared_ptr<const Tokenizer> char_tokenizer(const Texts& all) {
  std::string alphabet;
  for (std::size_t i = 0; i < all.texts.size(); ++i)
    explaining(all.files[i], [&] {
      const CharTokenizer own = CharTokenizer::from_text(all.texts[i]);
      std::vector<std::int32_t> ids(static_cast<std::size_t>(own.vocab_size()));
      std::iota(ids.begin(), ids.end(), 0);
      alphabet += own.decode(ids);
    });
  return std::make_shared<CharTokenizer>(CharTokenizer::from_text(alphabet));
}

/// Bytes [first, last) of all texts in a row. Each file is encoded by itself, so that no token
/// spans two of them, and an error counts from the first byte taken of its file.
Source encode(const Tokenizer& tokenizer, const Texts& all, std::size_t first, std::size_t last) {
  std::vector<TokenStream> streams;
  std::size_t begin = 0;  // of the file, among all bytes
  for (std::size_t i = 0; i < all.texts.size(); begin += all.texts[i++].size()) {
    const std::size_t size = all.texts[i].size();
    const std::size_t from = std::clamp(first, begin, begin + size) - begin;
    const std::size_t to = std::clamp(last, begin, begin + size) - begin;
    const std::string& file = all.files[i];
    explaining(from == 0 ? file : fmt::format("{}, from byte {} on", file, from), [&] {
      streams.push_back(
          TokenStream::from_ids(tokenizer.encode(all.texts[i].substr(from, to - from))));
    });
  }
  return {
      TokenStream::joined(streams), describe_files(all.files),
      fmt::format("text read by tokenizer {} ({} ids)", tokenizer.name(), tokenizer.vocab_size())};
}

/// The token files as one stream. They are of one layout: among others, a file that has lost its
/// header would pass for another kind.
Source open_tokens(const std::vector<std::string>& files) {
  std::vector<TokenStream> streams;
  std::string description;
  for (const std::string& file : files) {
    TokenFile opened = open_token_file(file);
    if (!streams.empty() && opened.description != description)
      fail(ErrorKind::data, "{} is {}, but {} is {}: name files of one kind", file,
           opened.description, files.front(), description);
    description = std::move(opened.description);
    streams.push_back(std::move(opened.tokens));
  }
  return {TokenStream::joined(streams), describe_files(files), std::move(description)};
}

bool are_token_files(const std::vector<std::string>& files) {
  const bool first = is_token_file(files.front());
  for (const std::string& file : files)
    if (is_token_file(file) != first)
      fail(ErrorKind::data, "{} is {}, but {} is {}: name files of one kind", file,
           first ? "a text" : "a file of tokens", files.front(),
           first ? "a file of tokens" : "a text");
  return first;
}

/// The training texts, cut in two when the validation set is their end.
Sources read_texts(const std::vector<std::string>& files, const DataSection& data,
                   std::shared_ptr<const Tokenizer>& tokenizer) {
  const Texts all = map_texts(files);
  std::size_t size = 0;
  for (std::size_t i = 0; i < files.size(); size += all.texts[i++].size())
    if (all.texts[i].empty())
      fail(ErrorKind::data, "{}: the file is empty; name a text to train on", files[i]);
  if (tokenizer == nullptr && data.tokenizer == "char") tokenizer = char_tokenizer(all);
  if (tokenizer == nullptr) tokenizer = tokenizer_for_text(data.tokenizer, "");
  const bool split = data.val.empty();
  const std::size_t cut = split ? split_offset(all.texts, data.val_fraction) : size;
  Sources sources{encode(*tokenizer, all, 0, cut), {}};
  if (split) sources.validation = encode(*tokenizer, all, cut, size);
  return sources;
}

/// The training token files, cut in two likewise.
Sources read_tokens(const std::vector<std::string>& files, const DataSection& data) {
  if (data.tokenizer == "char")
    fail(ErrorKind::usage,
         "{} holds tokens, and the vocabulary of data.tokenizer = \"char\" comes from a text: name "
         "the tokenizer.json the tokens were made with",
         files.front());
  const Source whole = open_tokens(files);
  const std::int64_t count = whole.tokens.size();
  const auto share =
      static_cast<std::int64_t>(static_cast<double>(count) * (1 - data.val_fraction));
  const std::int64_t cut = data.val.empty() ? share : count;
  Sources sources{whole, whole};
  sources.train.tokens = whole.tokens.part(0, cut);
  sources.validation.tokens = whole.tokens.part(cut, count - cut);
  return sources;
}

Sources read_train(const DataSection& data, std::shared_ptr<const Tokenizer>& tokenizer) {
  const std::vector<std::string> files = find_data_files(data.train);
  return are_token_files(files) ? read_tokens(files, data) : read_texts(files, data, tokenizer);
}

Source read_validation(const std::string& wanted, const Tokenizer* tokenizer) {
  const std::vector<std::string> files = find_data_files(wanted);
  if (are_token_files(files)) return open_tokens(files);
  if (tokenizer == nullptr)
    fail(ErrorKind::usage,
         "{} is a text, but data.train holds tokens of an unknown tokenizer: name it with "
         "data.tokenizer",
         files.front());
  return encode(*tokenizer, map_texts(files), 0, std::string_view::npos);
}

/// Beyond any tokenizer's; an id above it is damage.
constexpr std::int64_t largest_vocabulary = std::int64_t{1} << 21;

void require_known(const Sources& sources, std::int64_t vocab_size) {
  for (const Source* source : {&sources.train, &sources.validation})
    require_ids_below(source->tokens, vocab_size);
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
    return fmt::format("{}: {} tokens, {}", source.files, source.tokens.size(), source.description);
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
  corpus.train = Dataset(std::move(sources.train.tokens), model.context, corpus.known_ids);
  corpus.validation =
      Dataset(std::move(sources.validation.tokens), model.context, corpus.known_ids);
  return corpus;
}

std::shared_ptr<const Tokenizer> tokenizer_for_text(const std::string& name,
                                                    std::string_view text) {
  if (name == "byte") return std::make_shared<ByteTokenizer>();
  if (name == "char") return std::make_shared<CharTokenizer>(CharTokenizer::from_text(text));
  return load_named_tokenizer(name);
}

std::size_t split_offset(std::span<const std::string_view> texts, double validation_fraction) {
  const auto share = [&](std::size_t count) {
    return static_cast<std::size_t>(static_cast<double>(count) * (1 - validation_fraction));
  };
  const auto starts_character = [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  };
  std::size_t bytes = 0, characters = 0;
  for (const std::string_view text : texts) {
    bytes += text.size();
    characters += static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
  }
  const auto valid = [](std::string_view text) { return !find_invalid_utf8(text); };
  if (!std::ranges::all_of(texts, valid)) return share(bytes);
  std::size_t left = share(characters), offset = 0;
  for (const std::string_view text : texts)
    for (const char c : text) {
      if (starts_character(c) && left-- == 0) return offset;
      ++offset;
    }
  return offset;
}

}  // namespace skep
