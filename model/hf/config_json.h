#pragma once
// A model's configuration as Hugging Face's config.json.
#include <string>

#include "model/model_config.h"

namespace skep {

std::string to_config_json(const ModelConfig& config);

/// Error(data) naming `path` and the field that is missing, ill-typed or not supported.
ModelConfig parse_config_json(const std::string& text, const std::string& path);

}  // namespace skep
