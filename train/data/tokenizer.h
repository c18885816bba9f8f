#pragma once
// Text to token ids and back. Every tokenizer saves itself as a Hugging Face tokenizer.json, which
// other programs load as it is, and is read back from one.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skep {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::string name() const = 0;  ///< "byte", "char"
  virtual std::int64_t vocab_size() const = 0;

  /// Ids in [0, vocab_size()). Text that cannot be expressed is Error(data) with its offset.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;

  /// The bytes of the ids; decode(encode(x)) == x. An id outside the vocabulary is Error(data).
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;

  /// The id that separates documents, where the vocabulary has one.
  virtual std::optional<std::int32_t> end_of_text() const { return std::nullopt; }

  /// Equal for tokenizers that give the same ids: a model trained with one hash refuses another.
  virtual std::uint64_t hash() const = 0;

  /// The contents of tokenizer.json.
  virtual std::string to_json() const = 0;

  /// Name and contents of each file that makes a folder a tokenizer's.
  std::vector<std::pair<std::string, std::string>> files() const;

  /// Writes tokenizer.json and tokenizer_config.json into an existing folder. Error(storage).
  void save(const std::string& folder) const;
};

/// Reads FOLDER/tokenizer.json or the file itself. Error(data) for a damaged file or a kind of
/// tokenizer that is not known here.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path);

}  // namespace skep
