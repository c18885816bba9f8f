#include "tools/generate/options.h"

#include "engine/core/error.h"

namespace skep {
namespace {

void check_options(const GenerateOptions& options) {
  if (options.prompt && options.prompt_ids)
    fail(ErrorKind::usage, "--prompt and --prompt-ids are both given; give one");
  if (!options.prompt && !options.prompt_ids)
    fail(ErrorKind::usage, "no prompt: give --prompt TEXT or --prompt-ids 1,2,3");
  if (options.tokens < 0)
    fail(ErrorKind::usage, "--tokens must be 0 or more, not {}", options.tokens);
  check_sampling(options.sampling);
}

}  // namespace

GenerateOptions parse_generate(const Arguments& arguments) {
  GenerateOptions options;
  std::string prompt, prompt_ids;
  bool no_cache = false, ids = false;
  const auto flags = make_flags("generate", "Continues a prompt with a trained model.");
  flags
      ->add_option("--model", options.model,
                   "a checkpoint (runs/NAME/ckpt/step-N), or a folder as of Hugging Face")
      ->type_name("DIR")
      ->required();
  flags->footer(
      "Examples:\n"
      "  $ generate --model runs/NAME/ckpt/step-N --prompt \"The \" --tokens 200 --temperature "
      "0.8\n"
      "  $ generate --model DIR --prompt-ids 464,3290 --ids --temperature 0\n");
  CLI::Option* text =
      flags->add_option("--prompt", prompt, "text to continue; this or --prompt-ids must be given")
          ->type_name("TEXT");
  CLI::Option* list =
      flags->add_option("--prompt-ids", prompt_ids, "token ids to continue")->type_name("1,2,3");
  add_number(*flags, "--tokens", "N", options.tokens, "how many new tokens");
  add_number(*flags, "--temperature", "T", options.sampling.temperature,
             "divides the logits; 0 always takes the likeliest token");
  add_number(*flags, "--top-k", "K", options.sampling.top_k, "only the K likeliest tokens; 0: all");
  add_number(*flags, "--top-p", "P", options.sampling.top_p,
             "only the likeliest tokens that together reach probability P");
  add_number(*flags, "--seed", "S", options.sampling.seed, "the same seed draws the same tokens");
  flags->add_flag("--no-cache", no_cache,
                  "compute all positions for each token: slower, the same tokens (default: off)");
  flags->add_flag("--ids", ids, "print prompt and new tokens as ids (default: as text)");
  options.help = parse(*flags, arguments);
  if (!options.help.empty()) return options;
  if (text->count() > 0) options.prompt = prompt;
  if (list->count() > 0) options.prompt_ids = prompt_ids;
  if (no_cache) options.cache = NextLogits::Cache::no;
  if (ids) options.print = GenerateOptions::Print::ids;
  check_options(options);
  return options;
}

}  // namespace skep
