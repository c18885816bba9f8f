#pragma once
// First half of reading a safetensors header: its JSON text becomes a list of declarations. Only
// their form is checked here; whether they agree with each other and the file comes second.
#include <string_view>

#include "model/hf/safetensors.h"

namespace skep {

/// What the header says about one tensor, before anything is believed.
struct Declaration {
  std::string name;
  std::optional<StoredType> type;
  std::optional<std::vector<std::int64_t>> shape;
  std::optional<std::vector<std::uint64_t>> offsets;
};

struct Declarations {
  std::vector<Declaration> tensors;  // in the header's order, equal names included
  Metadata metadata;
};

/// Reads the header's text; `path` only serves the messages. Error(data) when it is not UTF-8 JSON
/// of the format's form.
Declarations read_declarations(std::string_view text, const std::filesystem::path& path);

/// Text from a file made fit for a one-line message: quoted, control characters escaped, shortened.
std::string printable(std::string_view text);

}  // namespace skep
