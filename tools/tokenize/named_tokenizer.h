#pragma once
// What --tokenizer T means.
#include <memory>
#include <string>

#include "train/data/tokenizer.h"

namespace skep {

/// byte, or the path of a tokenizer.json, of a folder that holds one or of a checkpoint.
/// Error(usage) for char, whose characters are unknown here; Error(data) for a bad file.
std::shared_ptr<const Tokenizer> named_tokenizer(const std::string& name);

/// As above, and char: the characters of `text`.
std::shared_ptr<const Tokenizer> named_tokenizer(const std::string& name, std::string_view text);

}  // namespace skep
