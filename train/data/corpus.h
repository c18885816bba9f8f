#pragma once
// From the paths in the configuration to training and validation windows: which kind of file it is,
// which tokenizer reads it, where it is split, and whether model and data fit each other.
#include <memory>
#include <span>
#include <string>
#include <string_view>

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
/// Each of them may be several files of one kind (see data_files.h): one stream, each file's tokens
/// after the other's with nothing in between, so that a window may reach from one into the next.
/// Text is tokenised here; the vocabulary of "char" comes from all training files. A token
/// file holds ids only: its tokenizer is data.tokenizer when that is a path, otherwise unknown, and
/// vocab_size then follows from the largest id. model.vocab, when not 0, may pad but not cut it.
///
/// Error(data) names the key, the file and what to do; Error(usage) when keys contradict each
/// other.
Corpus load_corpus(const DataSection& data, const ModelSection& model);

/// The tokenizer that data.tokenizer means for a text: byte, char (of this text) or a loaded one.
std::shared_ptr<const Tokenizer> tokenizer_for_text(const std::string& name, std::string_view text);

/// Where texts in a row are cut so that the first part has int(n (1 - fraction)) of their n
/// characters, as in nanoGPT; of their bytes when one is not UTF-8. Returns a byte offset.
std::size_t split_offset(std::span<const std::string_view> texts, double validation_fraction);

}  // namespace skep
