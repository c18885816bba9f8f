#pragma once
// What `inspect shapes` and `inspect graph` look at: a model, and one micro-batch to send through.
#include "model/language_model.h"
#include "model/parameter_store.h"
#include "tools/common/command_line.h"
#include "train/config.h"
#include "train/data/loader.h"

namespace skep {

struct Subject {
  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<ParameterStore> parameters;
  Batch batch;       ///< made-up ids: shapes do not depend on them
  std::string help;  ///< not empty: print this; there is no model then
};

/// Reads `--model DIR`, or else the settings of train. A configured model is looked at with its
/// micro-batch on one rank, a loaded one with a single sequence. Error(usage), Error(data).
Subject open_subject(const std::string& name, const std::string& purpose,
                     const Arguments& arguments);

/// The model that a configuration describes. Its vocabulary: what the training data need where they
/// are named, else model.vocab, else the tokenizer's.
ModelConfig configured_model(const Config& config);

}  // namespace skep
