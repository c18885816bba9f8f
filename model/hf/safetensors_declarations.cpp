#include "model/hf/safetensors_declarations.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "engine/core/error.h"
#include "model/hf/safetensors_header.h"

namespace skep {
namespace {

using nlohmann::json;

/// Collects declarations from parser events rather than from a document: a document keeps one of
/// two equal names and so hides a duplicate. Unknown keys of a tensor are skipped with all they
/// hold.
class HeaderEvents final : public nlohmann::json_sax<json> {
 public:
  explicit HeaderEvents(const std::filesystem::path& path) : path_(path) {}

  Declarations result;

  bool null() override { return scalar("null"); }
  bool boolean(bool) override { return scalar("a boolean"); }
  bool number_integer(number_integer_t) override { return scalar("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    return scalar("a number that is not a 64-bit integer");
  }
  bool binary(binary_t&) override { return scalar("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::shape) {
      if (value > std::numeric_limits<std::int64_t>::max())
        refuse("dimension {} is too large", value);
      auto& shape = *result.tensors.back().shape;
      if (shape.size() == max_rank) refuse("more than {} dimensions", max_rank);
      shape.push_back(static_cast<std::int64_t>(value));
    } else if (place_ == Place::offsets) {
      auto& offsets = *result.tensors.back().offsets;
      if (offsets.size() == 2) refuse("data_offsets has more than two numbers");
      offsets.push_back(value);
    } else {
      return scalar("a number");
    }
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::metadata) {
      if (!result.metadata.emplace(key_, value).second)
        refuse("key {} stands twice", printable(key_));
    } else if (place_ == Place::tensor && key_ == "dtype") {
      auto& type = result.tensors.back().type;
      if (type) refuse("dtype stands twice");
      type = find_stored_type(value);
      if (!type) refuse("unknown dtype {}", printable(value));
    } else {
      return scalar("a string");
    }
    return true;
  }

  bool key(string_t& value) override {
    if (place_ != Place::ignored) key_ = value;
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::top;
    } else if (place_ == Place::top && key_ == "__metadata__") {
      if (metadata_seen_) refuse("stands twice");
      metadata_seen_ = true;
      place_ = Place::metadata;
    } else if (place_ == Place::top) {
      result.tensors.push_back({key_, {}, {}, {}});
      place_ = Place::tensor;
    } else {
      ignore("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::ignored) {
      leave_ignored();
    } else {
      place_ = place_ == Place::top ? Place::outside : Place::top;
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::tensor && key_ == "shape") {
      if (result.tensors.back().shape) refuse("shape stands twice");
      result.tensors.back().shape.emplace();
      place_ = Place::shape;
    } else if (place_ == Place::tensor && key_ == "data_offsets") {
      if (result.tensors.back().offsets) refuse("data_offsets stands twice");
      result.tensors.back().offsets.emplace();
      place_ = Place::offsets;
    } else {
      ignore("an array");
    }
    return true;
  }

  bool end_array() override {
    if (place_ == Place::ignored) {
      leave_ignored();
    } else {
      place_ = Place::tensor;
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    fail(ErrorKind::data, "{}: the header is not valid UTF-8 JSON at its byte {}", path_.string(),
         position);
  }

 private:
  enum class Place { outside, top, metadata, tensor, shape, offsets, ignored };

  bool in_unknown_key() const {
    return place_ == Place::ignored || (place_ == Place::tensor && key_ != "dtype" &&
                                        key_ != "shape" && key_ != "data_offsets");
  }

  /// A value of the wrong kind, unless nobody asked for it.
  bool scalar(std::string_view kind) {
    if (in_unknown_key()) return true;
    switch (place_) {
      case Place::metadata:
        refuse("{} holds {}, only strings are allowed", printable(key_), kind);
      case Place::shape:
        refuse("shape holds {}, sizes are integers from 0 up", kind);
      case Place::offsets:
        refuse("data_offsets holds {}, offsets are integers from 0 up", kind);
      case Place::tensor:
        refuse("{} is {}", key_, kind);
      default:
        refuse("is {}, not an object", kind);
    }
  }

  void ignore(std::string_view kind) {
    if (!in_unknown_key()) scalar(kind);
    place_ = Place::ignored;
    ++ignored_depth_;
  }

  void leave_ignored() {
    if (--ignored_depth_ == 0) place_ = Place::tensor;
  }

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    const bool in_metadata =
        place_ == Place::metadata || (place_ == Place::top && key_ == "__metadata__");
    const std::string where =
        in_metadata
            ? "__metadata__"
            : fmt::format("tensor {}",
                          printable(place_ == Place::top ? key_ : result.tensors.back().name));
    fail(ErrorKind::data, "{}: {}: {}", path_.string(), where,
         fmt::format(format, std::forward<Args>(args)...));
  }

  const std::filesystem::path& path_;
  Place place_ = Place::outside;
  std::string key_;
  std::size_t ignored_depth_ = 0;
  bool metadata_seen_ = false;
};

/// Refuses what the JSON library lets through: it takes a NUL byte for the end of the text and
/// skips a byte order mark.
void check_plain_object(std::string_view text, const std::filesystem::path& path) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos || text[first] != '{') {
    fail(ErrorKind::data, "{}: the header does not start with '{{': not a safetensors file?",
         path.string());
  }
  if (const std::size_t nul = text.find('\0'); nul != text.npos) {
    fail(ErrorKind::data, "{}: the header is not JSON: byte {} is NUL", path.string(), nul);
  }
}

}  // namespace

Declarations read_declarations(std::string_view text, const std::filesystem::path& path) {
  check_plain_object(text, path);
  HeaderEvents events(path);
  json::sax_parse(text, &events);
  return std::move(events.result);
}

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 160;
  if (text.size() <= longest) return fmt::format("{:?}", text);
  return fmt::format("{:?}...", text.substr(0, longest));
}

}  // namespace skep
