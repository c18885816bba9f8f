#include "tools/generate/generate.h"

#include "engine/core/error.h"
#include "tools/common/folder_tokenizer.h"
#include "tools/common/print.h"
#include "tools/common/token_ids.h"
#include "train/checkpoint/saved_model.h"

namespace skep {
namespace {

using TokenizerPointer = std::shared_ptr<const Tokenizer>;

// A text prompt needs a tokenizer; ids only profit from one.
TokenizerPointer find_tokenizer(const std::string& folder, const ModelConfig& model,
                                const GenerateOptions& options) {
  if (options.prompt) return folder_tokenizer(folder, model);
  try {
    return folder_tokenizer(folder, model);
  } catch (const Error& error) {
    if (options.print == GenerateOptions::Print::text)
      print_note(fmt::format("generate: printing ids, for there is no text: {}", error.what()));
    return nullptr;
  }
}

std::vector<std::int32_t> prompt_tokens(const GenerateOptions& options, const Tokenizer* tokenizer,
                                        const ModelConfig& model) {
  const std::string source = options.prompt ? "--prompt" : "--prompt-ids";
  std::vector<std::int32_t> ids;
  try {
    ids = options.prompt ? tokenizer->encode(*options.prompt)
                         : parse_ids(*options.prompt_ids, source);
  } catch (const Error& error) {
    throw at_place(source, error);
  }
  if (ids.empty())
    fail(ErrorKind::usage, "{} is empty: generation needs at least one token to start from",
         source);
  require_known_ids(ids, tokenizer ? tokenizer->vocab_size() : model.vocab, source);
  return ids;
}

}  // namespace

void generate(const GenerateOptions& options) {
  const auto [folder, loaded] = open_saved_model(options.model);
  const ModelConfig& config = loaded.model->config();
  const TokenizerPointer tokenizer = find_tokenizer(folder, config, options);
  std::vector<std::int32_t> ids = prompt_tokens(options, tokenizer.get(), config);

  const bool as_text = tokenizer && options.print == GenerateOptions::Print::text;
  Continuation wanted{options.tokens, config.vocab, std::nullopt};
  if (tokenizer) wanted = {options.tokens, tokenizer->vocab_size(), tokenizer->end_of_text()};
  if (as_text) print(tokenizer->decode(ids));
  NextLogits next_logits(*loaded.model, options.cache);
  continue_tokens(next_logits, ids, wanted, options.sampling, [&](std::int32_t id) {
    if (as_text && id != wanted.stop) print(tokenizer->decode(std::span(&id, 1)));
  });
  print(as_text ? "\n" : format_ids(ids) + "\n");
}

}  // namespace skep
