#pragma once
// Token ids on disk, little-endian, in the two layouts others already write:
//   nanoGPT  raw uint16, no header;
//   llm.c    256 int32 (magic, version, count, zeros), then the ids: uint16 for GPT-2's magic
//            20240520 v1, uint32 for Llama-3's 20240801 v7.
// The magic tells them apart: read as nanoGPT ids, it would begin with an id beyond GPT-2's 50,257.
#include <span>
#include <string>

#include "train/data/token_stream.h"

namespace skep {

struct TokenFile {
  TokenStream tokens;
  std::string description;  ///< which layout was read: "raw uint16 (nanoGPT)"
};

/// Whether a file is tokens rather than text: its name ends in .bin, or it begins with a magic.
/// Error(data) when it cannot be read.
bool is_token_file(const std::string& path);

/// Maps a token file. Error(data), one line naming the file and what to do, for a file that is
/// missing, empty, of an odd size, of a wrong magic or version, or whose size is not what its
/// header says. The ids are not looked at: see require_ids_below.
TokenFile open_token_file(const std::string& path);

/// Writes an llm.c shard: uint16 ids for a vocabulary up to 65,536, else uint32. Error(storage)
/// when writing fails; an id outside [0, vocab_size) is Error(data) with its position.
void write_token_file(const std::string& path, std::span<const std::int32_t> ids,
                      std::int64_t vocab_size);

/// Error(data) naming the file and the position of the first id >= vocab_size.
void require_ids_below(const TokenStream& tokens, std::int64_t vocab_size);

}  // namespace skep
