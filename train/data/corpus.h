#pragma once
// From the paths in the configuration to training and validation windows: which kind of file it is,
// which tokenizer reads it, where it is split, and whether model and data fit each other.
#include <memory>
#include <string>

#include "train/config.h"
#include "train/data/dataset.h"
#include "train/data/tokenizer.h"

namespace skep {

struct Corpus {
  std::shared_ptr<const Tokenizer> tokenizer;  ///< null: token files, and none was named
  std::int64_t vocab_size;                     ///< rows of the embedding; every id is below
  std::int64_t known_ids;                      ///< ids a token can be: rows less padding
  Dataset train;
  Dataset validation;       ///< no windows when data.val_fraction is 0
  std::string description;  ///< what was read, a line for each set
};

/// Reads data.train and data.val in windows of model.context tokens.
///
/// Text is tokenised here; the vocabulary of "char" comes from the whole training file. A token
/// file holds ids only: its tokenizer is data.tokenizer when that is a path, otherwise unknown, and
/// vocab_size then follows from the largest id. model.vocab, when not 0, may pad but not cut it.
///
/// Error(data) names the key, the file and what to do; Error(usage) when keys contradict each
/// other.
Corpus load_corpus(const DataSection& data, const ModelSection& model);

/// The tokenizer that data.tokenizer means for a text: byte, char (of this text) or a loaded one.
std::shared_ptr<const Tokenizer> tokenizer_for_text(const std::string& name, std::string_view text);

/// Where a text is cut so that the first part has int(n (1 - fraction)) of its n characters, as in
/// nanoGPT; of its bytes when it is not UTF-8. Returns a byte offset.
std::size_t split_offset(std::string_view text, double validation_fraction);

}  // namespace skep
