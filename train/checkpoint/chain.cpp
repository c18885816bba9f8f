#include "train/checkpoint/chain.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "engine/core/files.h"
#include "train/checkpoint/difference.h"
#include "train/checkpoint/folder.h"
#include "train/hash.h"

namespace skep {
namespace {

namespace fs = std::filesystem;

// Where it really stands, whatever name it was given by: the others are beside it.
fs::path real_place(const std::string& checkpoint) {
  std::error_code unknown;
  const fs::path place = fs::weakly_canonical(checkpoint, unknown);
  return unknown ? fs::path(checkpoint) : place;
}

std::string folder_above(const std::string& checkpoint) {
  return real_place(checkpoint).parent_path().string();
}

std::string name_of(const std::string& checkpoint) {
  return real_place(checkpoint).filename().string();
}

// The bytes of `size` from `at` on, or nothing when there are fewer.
std::optional<std::span<const std::byte>> part_of(std::span<const std::byte> bytes,
                                                  std::uint64_t at, std::uint64_t size) {
  if (at > bytes.size() || size > bytes.size() - at) return {};
  return bytes.subspan(at, size);
}

// Turns the bytes of a reference into those of a file.
void apply_parts(const std::string& folder, const std::vector<PackedPart>& parts,
                 std::vector<std::byte>& bytes) {
  std::string open;
  std::unique_ptr<MappedFile> source;
  const auto damaged = [&](const std::string& file, std::string_view what) {
    fail(ErrorKind::data, "{}: {} cannot be restored: {}", folder, file, what);
  };
  for (const PackedPart& part : parts) {
    if (open != part.source) source = std::make_unique<MappedFile>(folder + "/" + part.source);
    open = part.source;
    const auto packed = part_of(source->bytes(), part.at, part.packed_bytes);
    if (!packed || !part_of(bytes, part.begin, part.bytes))
      damaged(part.file, "its manifest.json is damaged");
    const auto restored = std::span(bytes).subspan(part.begin, part.bytes);
    if (!apply_difference(*packed, restored) || hash_bytes(restored) != part.xxh3)
      damaged(part.file, "what comes out is not what was saved");
  }
  if (parts.back().begin + parts.back().bytes != bytes.size())
    damaged(parts.back().file, "its reference has another length");
}

}  // namespace

Chain::Chain(const std::string& checkpoint) {
  links_.push_back({checkpoint, read_restore_plan(checkpoint)});
  const std::string above = folder_above(checkpoint);
  std::int64_t step = std::numeric_limits<std::int64_t>::max();  // falls: there are no circles
  while (const auto previous = links_.back().plan.previous) {
    const std::string folder = checkpoint_path(above, previous->step), name = name_of(folder);
    if (std::exchange(step, previous->step) <= previous->step || !fs::exists(folder))
      fail(ErrorKind::data, "{}, on which it builds, is missing", name);
    links_.push_back({folder, read_restore_plan(folder)});
    if (links_.back().plan.xxh3 != previous->manifest_xxh3)
      fail(ErrorKind::data,
           "{}, on which it builds, is not the one it was saved after: its manifest.json differs",
           name);
  }
  std::reverse(links_.begin(), links_.end());
}

std::vector<std::string> Chain::folders() const {
  std::vector<std::string> folders;
  for (const ChainLink& link : links_) folders.push_back(link.folder);
  return folders;
}

SafetensorsFile Chain::tensors(const std::string& file) const {
  const ChainLink& last = links_.back();
  const std::string path = last.folder + "/" + file;
  if (last.plan.packed.count(file) == 0) return SafetensorsFile::open(path);
  return SafetensorsFile::over(path, restore(links_.size() - 1, file));
}

std::vector<std::byte> Chain::restore(std::size_t link, const std::string& file) const {
  const auto& [folder, plan] = links_[link];
  const auto found = plan.packed.find(file);
  if (found == plan.packed.end()) {
    const MappedFile whole(folder + "/" + file);
    return {whole.bytes().begin(), whole.bytes().end()};
  }
  const std::string& against = found->second.front().against;
  // Only a file that has no such reference itself can be one: there are no circles.
  const auto reference = plan.packed.find(against);
  const bool circle = reference != plan.packed.end() && !reference->second.front().against.empty();
  if (circle || (against.empty() && link == 0))
    fail(ErrorKind::data, "{}: {} has no reference: its manifest.json is damaged", folder, file);
  std::vector<std::byte> bytes = against.empty() ? restore(link - 1, file) : restore(link, against);
  apply_parts(folder, found->second, bytes);
  return bytes;
}

std::string previous_of(const std::string& checkpoint) {
  try {
    const auto previous = read_restore_plan(checkpoint).previous;
    return previous ? checkpoint_path(folder_above(checkpoint), previous->step) : "";
  } catch (const Error&) {
    return {};
  }
}

std::optional<Error> find_fault(const std::string& checkpoint) {
  try {
    if (const std::string damage = find_damage(checkpoint); !damage.empty())
      return Error(ErrorKind::data, damage);
    std::vector<std::string> folders = Chain(checkpoint).folders();
    folders.pop_back();
    for (const std::string& folder : folders)
      if (const std::string damage = find_damage(folder); !damage.empty())
        return Error(ErrorKind::data,
                     fmt::format("{}, on which it builds: {}", name_of(folder), damage));
  } catch (const std::exception& error) {  // of the file system too
    return Error(ErrorKind::data, error.what());
  }
  return {};
}

}  // namespace skep
