#pragma once
// The tool: model folder and prompt in, text or ids out.
#include "tools/generate/options.h"

namespace skep {

/// Prints prompt and continuation. Text comes token by token, bytes as they are; the token that
/// ends a text is not part of it. Without a usable tokenizer a prompt of ids still works, and ids
/// are printed.
void generate(const GenerateOptions& options);

}  // namespace skep
