#include "train/checkpoint/base_diff.h"

#include <algorithm>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "train/checkpoint/chain.h"
#include "train/checkpoint/content.h"
#include "train/checkpoint/difference.h"
#include "train/checkpoint/folder.h"
#include "train/checkpoint/shared_file.h"
#include "train/hash.h"

namespace skep {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{4} << 20;  // packed and checked by itself

bool same_layout(const TensorPiece& piece) {
  return piece.now.extents() == piece.reference.extents();
}

// The file that takes this rank's differences, one behind the other.
class DifferenceFile {
 public:
  DifferenceFile(const std::string& folder, std::string name)
      : name_(std::move(name)), file_(folder + "/" + name_) {}

  // The chunk of an extent that begins `done` bytes after it.
  void add(const TensorPiece& piece, const Extent& extent, std::size_t done) {
    const std::size_t bytes = std::min(chunk_bytes, extent.bytes - done);
    const auto now = piece.now.bytes().subspan(extent.at + done, bytes);
    const std::vector<std::byte> packed =
        pack_difference(now, piece.reference.bytes().subspan(extent.at + done, bytes));
    file_.write(packed, end_);
    written_.parts.push_back({name_, end_, packed.size(), hash_bytes(packed)});
    written_.packed.push_back({extent.file, extent.begin + done, bytes, hash_bytes(now),
                               piece.against, name_, end_, packed.size()});
    end_ += packed.size();
  }
  WrittenFiles commit() {
    file_.commit();
    return std::move(written_);
  }

 private:
  std::string name_;
  SharedFile file_;
  std::size_t end_ = 0;
  WrittenFiles written_;
};

}  // namespace

BaseDiff::BaseDiff(Communicator& comm, std::string folder, std::int64_t max_diffs)
    : comm_(comm), folder_(std::move(folder)), max_diffs_(max_diffs) {}

void BaseDiff::turn(TensorPieces& pieces) const {
  for (TensorPiece* piece : {&pieces.shared, &pieces.own}) {
    if (max_diffs_ > 0) std::swap(piece->now, piece->reference);
    piece->now.clear();
    piece->against.clear();
    piece->as = TensorPiece::As::whole;
  }
}

void BaseDiff::decide(TensorPieces& pieces) {
  if (max_diffs_ == 0) return;
  const bool can = can_continue(pieces);
  const bool all_can = comm_.all_equal(can ? 1 : 0).empty() && can;
  diffs_ = all_can ? diffs_ + 1 : 0;
  previous_ = all_can ? last_ : std::nullopt;
  if (all_can) pieces.shared.as = pieces.own.as = TensorPiece::As::difference;
  if (!pieces.own.now.empty()) differ_from_rank_0(pieces.own);
}

// A chain that somebody has removed from the disk is not continued.
bool BaseDiff::can_continue(const TensorPieces& pieces) const {
  if (!last_ || diffs_ >= max_diffs_) return false;
  if (!same_layout(pieces.shared) || !same_layout(pieces.own)) return false;
  if (comm_.rank() != 0) return true;
  try {
    return Chain(checkpoint_path(folder_, last_->step)).manifest_xxh3() == last_->manifest_xxh3;
  } catch (const Error&) {
    return false;
  }
}

void BaseDiff::differ_from_rank_0(TensorPiece& own) const {
  if (comm_.rank() == 0) {
    comm_.broadcast(own.now.bytes(), 0);
    return;
  }
  own.reference.take_layout(own.now);
  comm_.broadcast(own.reference.bytes(), 0);
  own.against = rank_folder(0) + "/" + state_tensors;
  own.as = TensorPiece::As::difference;
}

std::string BaseDiff::describe() const {
  if (max_diffs_ == 0) return {};
  return previous_ ? fmt::format("difference {} of at most {}", diffs_, max_diffs_) : "base";
}

void BaseDiff::completed(std::int64_t step, std::uint64_t manifest_xxh3) {
  last_ = Link{step, manifest_xxh3};
}

WrittenFiles write_differences(const TensorPieces& pieces, const std::string& folder,
                               const std::string& name, const std::atomic<bool>& give_up) {
  std::optional<DifferenceFile> file;  // only where there is something
  for (const TensorPiece* piece : {&pieces.shared, &pieces.own}) {
    if (piece->as == TensorPiece::As::whole) continue;
    for (const Extent& extent : piece->now.extents())
      for (std::size_t done = 0; done < extent.bytes; done += chunk_bytes) {
        if (give_up)
          fail(ErrorKind::storage, "{}/{}: the run ends before it is written", folder, name);
        if (!file) file.emplace(folder, name);
        file->add(*piece, extent, done);
      }
  }
  if (!file) return {};
  WrittenFiles written = file->commit();
  sync_directory(folder);
  return written;
}

}  // namespace skep
