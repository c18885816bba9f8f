#pragma once
// The manifest of a checkpoint: every file with its size and, for each part that one rank wrote, an
// XXH3 hash; and of the files that are there only as differences, how to restore them. Written
// last, so that a checkpoint with a manifest that holds is whole.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace skep {

/// Consecutive bytes of a file, written by one rank.
struct WrittenPart {
  std::string file;  ///< below the checkpoint's folder
  std::uint64_t begin = 0, bytes = 0, xxh3 = 0;
};

/// Consecutive bytes of a file that is not there itself: they are those of its reference with a
/// difference applied.
struct PackedPart {
  std::string file;
  std::uint64_t begin = 0, bytes = 0, xxh3 = 0;  ///< once restored
  std::string against;  ///< the reference: a file of this checkpoint; empty: this one in the last
  std::string source;   ///< holds the difference
  std::uint64_t at = 0, packed_bytes = 0;  ///< where in the source
};

/// What ranks wrote of a checkpoint.
struct WrittenFiles {
  std::vector<WrittenPart> parts;
  std::vector<PackedPart> packed;

  void append(WrittenFiles more);
  std::uint64_t bytes() const;  ///< on the disk
};

/// As text, to be sent to another rank, and back.
std::string to_text(const WrittenFiles& files);
WrittenFiles written_files_from(const std::string& text);

/// The checkpoint that another one continues, beside it. Its hash covers those of all its files,
/// and of the one it continues itself.
struct Link {
  std::int64_t step = 0;
  std::uint64_t manifest_xxh3 = 0;
};

/// Writes CHECKPOINT/manifest.json for what all ranks wrote; returns the hash of its text.
/// Error(storage) when a file is not as long as its parts.
std::uint64_t write_manifest(const std::string& checkpoint, std::int64_t step, WrittenFiles files,
                             const std::optional<Link>& previous = {});

/// Checks every file against the manifest; the reason when it is damaged, empty when whole. Of a
/// checkpoint that continues others this sees only its own files; see chain.h. `below`: only files
/// whose names begin so, such as "model/".
std::string find_damage(const std::string& checkpoint, std::string_view below = "");

/// What a manifest says of a restore.
struct RestorePlan {
  std::optional<Link> previous;
  std::map<std::string, std::vector<PackedPart>> packed;  ///< by file, in the order of its bytes
  std::uint64_t xxh3 = 0;                                 ///< of the manifest's text
};
/// Error(data) when the manifest is missing or damaged.
RestorePlan read_restore_plan(const std::string& checkpoint);

}  // namespace skep
