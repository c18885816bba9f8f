#include "tools/evaluate/evaluation.h"

#include <cmath>
#include <numbers>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "tools/common/folder_tokenizer.h"
#include "train/data/text_file.h"
#include "train/data/token_file.h"

namespace skep {
namespace {

struct Source {
  TokenStream tokens;
  std::optional<std::int64_t> target_bytes;
};

// Every token but the first is a target: together they spell the text without its first token.
Source read_text(const std::string& file, const Tokenizer& tokenizer) {
  const MappedFile mapped(file);
  std::vector<std::int32_t> ids;
  try {
    require_text(mapped.text());
    ids = tokenizer.encode(mapped.text());
  } catch (const Error& error) {
    throw Error(error.kind(), file + ": " + error.what());
  }
  std::int64_t bytes = std::ssize(mapped.bytes());
  if (!ids.empty()) bytes -= std::ssize(tokenizer.decode(std::span(ids).first(1)));
  return {TokenStream::from_ids(ids), bytes};
}

void require_known(const TokenStream& tokens, std::int64_t vocab, const std::string& file) {
  const std::int64_t position = tokens.find_outside(vocab);
  if (position >= 0)
    fail(ErrorKind::data,
         "{}: token {} at position {} is outside the model's vocabulary of {}: the file was made "
         "with another tokenizer",
         file, tokens.part(position, 1).largest(), position, vocab);
}

}  // namespace

EvaluationData open_evaluation_data(const std::string& file, const std::string& folder,
                                    const ModelConfig& model, std::int64_t context) {
  if (context > model.context)
    fail(ErrorKind::usage, "--context {} is longer than the model's context of {}", context,
         model.context);
  Source source = is_token_file(file) ? Source{open_token_file(file).tokens, std::nullopt}
                                      : read_text(file, *folder_tokenizer(folder, model));
  require_known(source.tokens, model.vocab, file);
  if (source.tokens.size() < 2)
    fail(ErrorKind::data, "{}: a loss needs at least 2 tokens, found {}", file,
         source.tokens.size());
  return {Dataset(std::move(source.tokens), context == 0 ? model.context : context),
          source.target_bytes};
}

std::string format_report(const StepTotals& totals, std::optional<std::int64_t> target_bytes) {
  const double loss = totals.loss_sum / totals.tokens;
  if (!std::isfinite(loss))
    fail(ErrorKind::non_finite, "the loss is {}: the weights are damaged, or training diverged",
         loss);
  std::string text = fmt::format("loss {:.8f}\nperplexity {:.6f}\ntokens {:.0f}\n", loss,
                                 std::exp(loss), totals.tokens);
  if (target_bytes)
    text += fmt::format("bits_per_byte {:.8f}\n",
                        totals.loss_sum / std::numbers::ln2 / static_cast<double>(*target_bytes));
  return text;
}

}  // namespace skep
