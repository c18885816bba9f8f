#include "tools/evaluate/options.h"

#include "engine/core/error.h"
#include "train/config.h"

namespace skep {

EvaluateOptions parse_evaluate(const Arguments& arguments) {
  EvaluateOptions options;
  const auto flags =
      make_flags("evaluate",
                 "Measures the loss of a model on a text or a token file, on any number of ranks.");
  flags
      ->add_option("--model", options.model,
                   "a checkpoint (runs/NAME/ckpt/step-N), or a folder as of Hugging Face")
      ->type_name("DIR")
      ->required();
  flags->footer(
      "Example:\n  $ mpirun -np 2 evaluate --model runs/NAME/ckpt/step-N --data input.txt\n");
  flags->add_option("--data", options.data, "a text, or a token file of nanoGPT or llm.c")
      ->type_name("FILE")
      ->required();
  add_number(*flags, "--context", "N", options.context, "tokens of a window; 0: the model's");
  add_number(*flags, "--batch", "B", options.batch, "windows a rank computes at a time");
  add_number(*flags, "--threads", "N", options.threads, "threads of a rank; 0: its share");
  options.help = parse(*flags, arguments);
  if (!options.help.empty()) return options;
  if (options.context < 0)
    fail(ErrorKind::usage, "--context must be 0 (the model's) or more, not {}", options.context);
  if (options.batch < 1) fail(ErrorKind::usage, "--batch must be 1 or more, not {}", options.batch);
  if (options.threads < 0 || options.threads > most_threads)
    fail(ErrorKind::usage, "--threads must be from 0 (choose) to {}, not {}", most_threads,
         options.threads);
  return options;
}

}  // namespace skep
