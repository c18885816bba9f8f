#pragma once
// The manifest of a checkpoint: every file with its size and, for each part that one rank wrote, an
// XXH3 hash. Written last, so that a checkpoint with a manifest that holds is whole.
#include <cstdint>
#include <string>
#include <vector>

namespace skep {

/// Consecutive bytes of a file, written by one rank.
struct WrittenPart {
  std::string file;  ///< below the checkpoint's folder
  std::uint64_t begin = 0, bytes = 0, xxh3 = 0;
};

/// Parts as text, to be sent to another rank, and back.
std::string to_text(const std::vector<WrittenPart>& parts);
std::vector<WrittenPart> parts_from(const std::string& text);

/// Writes CHECKPOINT/manifest.json for these parts of all ranks. Error(storage) when a file is not
/// as long as its parts.
void write_manifest(const std::string& checkpoint, std::int64_t step,
                    std::vector<WrittenPart> parts);

/// Checks every file against the manifest; the reason when it is damaged, empty when whole.
std::string find_damage(const std::string& checkpoint);

}  // namespace skep
