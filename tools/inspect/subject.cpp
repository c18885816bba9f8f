#include "tools/inspect/subject.h"

#include "engine/core/error.h"
#include "train/build.h"
#include "train/checkpoint/saved_model.h"
#include "train/data/corpus.h"

namespace skep {
namespace {

struct Vocabulary {
  std::int64_t ids, rows;
};

Vocabulary find_vocabulary(const Config& config) {
  if (!config.data.train.empty()) {
    const Corpus corpus = load_corpus(config.data, config.model);
    return {corpus.known_ids, corpus.vocab_size};
  }
  if (config.model.vocab > 0) return {config.model.vocab, config.model.vocab};
  if (config.data.tokenizer == "char")
    fail(ErrorKind::usage,
         "the vocabulary of data.tokenizer = \"char\" comes from a text: give data.train, or "
         "model.vocab");
  const std::int64_t ids = tokenizer_for_text(config.data.tokenizer, "")->vocab_size();
  return {ids, ids};
}

Batch make_batch(std::int64_t sequences, const ModelConfig& model) {
  Batch batch;
  batch.B = sequences;
  batch.T = model.context;
  batch.valid_targets = batch.B * batch.T;
  for (std::int64_t i = 0; i < batch.valid_targets; ++i) {
    batch.inputs.push_back(static_cast<std::int32_t>(i % model.vocab));
    batch.targets.push_back(static_cast<std::int32_t>((i + 1) % model.vocab));
  }
  for (std::int64_t b = 0; b < sequences; ++b) batch.samples.push_back(b);
  return batch;
}

Subject from_folder(const std::string& given) {
  LoadedModel loaded = open_saved_model(given).loaded;
  Batch batch = make_batch(1, loaded.model->config());
  return {std::move(loaded.model), std::move(loaded.parameters), std::move(batch), ""};
}

Subject from_settings(const std::string& name, const Arguments& settings) {
  std::vector<const char*> argv = {name.c_str()};
  for (const std::string& setting : settings) argv.push_back(setting.c_str());
  const ParsedCommand command = parse_command_line(static_cast<int>(argv.size()), argv.data());
  if (command.action != Action::train) return {nullptr, nullptr, {}, command.text};
  Subject subject;
  subject.model = make_model(configured_model(command.config));
  subject.parameters = std::make_unique<ParameterStore>(*subject.model, command.config.run.seed);
  subject.batch =
      make_batch(split_batch(command.config.batch, 1).micro_batch, subject.model->config());
  return subject;
}

}  // namespace

ModelConfig configured_model(const Config& config) {
  const Vocabulary vocabulary = find_vocabulary(config);
  return model_config(config.model, vocabulary.ids, vocabulary.rows);
}

Subject open_subject(const std::string& name, const std::string& purpose,
                     const Arguments& arguments) {
  const auto flags = make_flags(name, purpose);
  std::string folder;
  Arguments settings;
  CLI::Option* model =
      flags->add_option("--model", folder, "look at this model instead of a configured one")
          ->type_name("DIR");
  flags->footer(
      "Without --model: the settings of train, --config FILE.toml and --SECTION.KEY VALUE\n"
      "(`train --help` lists them); data.train is only needed where its vocabulary is.");
  if (std::string help = parse_known(*flags, arguments, settings); !help.empty())
    return {nullptr, nullptr, {}, help};
  if (model->count() == 0) return from_settings(name, settings);
  if (!settings.empty())
    fail(ErrorKind::usage, "--model {} already says everything: remove {}", folder,
         settings.front());
  return from_folder(folder);
}

}  // namespace skep
