#include "train/checkpoint/checkpointer.h"

#include <filesystem>
#include <functional>
#include <utility>

#include "engine/core/files.h"
#include "engine/kernels/copy.h"
#include "model/hf/config_json.h"
#include "train/checkpoint/folder.h"
#include "train/checkpoint/state_archive.h"
#include "train/gather.h"
#include "train/sync/average.h"

namespace skep {
namespace {

namespace fs = std::filesystem;

// Runs `part` on each rank and gives its texts of all of them; if it fails anywhere, every rank
// throws the error of the lowest rank that failed.
std::vector<std::string> gather_or_fail(Communicator& comm,
                                        const std::function<std::string()>& part) {
  comm.set_phase("checkpoint");
  int code = 0;
  std::string text;
  try {
    text = part();
  } catch (const Error& error) {
    code = error.exit_code();
    text = error.what();
  } catch (const fs::filesystem_error& error) {
    code = static_cast<int>(ErrorKind::storage);
    text = fmt::format("{}: checkpoint cannot be written: {}", error.path1().string(),
                       describe_write_error(error.code().value()));
  }
  std::vector<std::string> texts = gather_texts(comm, static_cast<char>(code) + text);
  for (std::string& each : texts) {
    const auto kind = static_cast<ErrorKind>(each.front());
    each.erase(0, 1);
    if (kind != ErrorKind{}) throw Error(kind, each);
  }
  return texts;
}

FileImage model_image(const CheckpointContent& content) {
  return {model_tensors_file, model_tensors(content.model.config(), content.parameters),
          model_metadata()};
}

FileImage state_image(const CollectingArchive& archive, const std::string& folder) {
  return {folder + state_tensors, archive.tensors(), Metadata{}};
}

std::vector<std::string> own_folders(const CheckpointContent& content) {
  std::vector<std::string> folders;
  if (content.replicas != CheckpointContent::Replicas::equal)
    for (int rank = 0; rank < content.ranks; ++rank) folders.push_back(rank_folder(rank));
  return folders;
}

void prepare(const std::string& unfinished, const std::vector<std::string>& subfolders) {
  fs::remove_all(unfinished);
  make_directories(unfinished);
  for (const std::string& folder : subfolders) make_directories(unfinished + "/" + folder);
}

}  // namespace

Checkpointer::Checkpointer(Communicator& comm, CheckpointRules rules)
    : comm_(comm), rules_(std::move(rules)), base_diff_(comm, rules_.folder, rules_.max_diffs) {}

// A run that ends on an error does not wait for a big file.
Checkpointer::~Checkpointer() { give_up_ = true; }

void Checkpointer::begin(std::int64_t step, const CheckpointContent& content) {
  check(!writing_.valid(), "checkpoint of step {} while that of step {} is under way", step, step_);
  begun_ = Clock::now();
  step_ = step;
  if (tidying_.valid()) tidying_.get();
  copy(content);
  const std::string unfinished = unfinished_path(rules_.folder, step);
  std::vector<std::string> subfolders = own_folders(content);
  if (!base_diff_.previous()) subfolders.push_back("model");
  gather_or_fail(comm_, [&]() -> std::string {
    if (comm_.rank() == 0) prepare(unfinished, subfolders);
    return {};
  });
  writing_ = std::async(std::launch::async, [this, unfinished] { return write(unfinished); });
  stall_seconds_ = std::chrono::duration<double>(Clock::now() - begun_).count();
}

void Checkpointer::copy(const CheckpointContent& content) {
  base_diff_.turn(tensors_);
  const auto archive = make_collecting_archive();
  if (content.replicas == CheckpointContent::Replicas::equal)
    content.archive(*archive);
  else
    archive_own_state(content, *archive);
  copy_tensors(content, *archive);
  base_diff_.decide(tensors_);
  copy_texts(content, *archive);
}

void Checkpointer::copy_tensors(const CheckpointContent& content,
                                const CollectingArchive& archive) {
  using Replicas = CheckpointContent::Replicas;
  if (content.replicas == Replicas::equal)
    return share({model_image(content), state_image(archive, "")});
  tensors_.own.now.add(state_image(archive, rank_folder(comm_.rank()) + "/"));
  const bool same =
      content.replicas == Replicas::own_state || all_same(content.parameters.values(), comm_);
  if (same) return share({model_image(content)});
  // The model for everyone to use is the mean of the replicas.
  const Tensor& values = content.parameters.values();
  const Tensor own = empty_like(values);
  skep::copy(own, values);
  average(values, comm_);
  share({model_image(content)});
  skep::copy(values, own);
}

void Checkpointer::share(std::vector<FileImage> files) {
  tensors_.shared.now.add_share(files, comm_.rank(), comm_.size());
}

// Small files, whole in every checkpoint but for those that never change.
void Checkpointer::copy_texts(const CheckpointContent& content, const CollectingArchive& archive) {
  texts_.clear();
  const bool equal = content.replicas == CheckpointContent::Replicas::equal;
  const std::string folder = equal ? "" : rank_folder(comm_.rank()) + "/";
  if (!equal || comm_.rank() == 0) texts_.add({folder + state_numbers, archive.numbers()});
  if (comm_.rank() != 0 || base_diff_.previous()) return;
  texts_.add({"model/config.json", to_config_json(content.model.config())});
  if (content.tokenizer)
    for (const auto& [name, text] : content.tokenizer->files()) texts_.add({"model/" + name, text});
}

WrittenFiles Checkpointer::write(const std::string& folder) const {
  WrittenFiles written = texts_.write(folder, give_up_);
  for (const TensorPiece* piece : {&tensors_.shared, &tensors_.own})
    if (piece->as == TensorPiece::As::whole) written.append(piece->now.write(folder, give_up_));
  written.append(
      write_differences(tensors_, folder, fmt::format("xor.rank-{}", comm_.rank()), give_up_));
  return written;
}

bool Checkpointer::written() const {
  return writing_.valid() &&
         writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

std::optional<SavedCheckpoint> Checkpointer::finish() {
  if (!writing_.valid()) return {};
  const auto started = Clock::now();
  const std::string unfinished = unfinished_path(rules_.folder, step_);
  std::uint64_t bytes = 0;
  try {
    const auto texts = gather_or_fail(comm_, [&] { return to_text(writing_.get()); });
    bytes = complete(unfinished, texts);
  } catch (const Error&) {
    std::error_code ignored;
    if (comm_.rank() == 0) fs::remove_all(unfinished, ignored);  // half of one only fills the disk
    throw;
  }
  if (comm_.rank() == 0)
    tidying_ =
        std::async(std::launch::async, [this] { prune_checkpoints(rules_.folder, rules_.keep); });
  const auto now = Clock::now();
  return SavedCheckpoint{step_,
                         checkpoint_path(rules_.folder, step_),
                         stall_seconds_ + std::chrono::duration<double>(now - started).count(),
                         std::chrono::duration<double>(now - begun_).count(),
                         bytes,
                         base_diff_.describe()};
}

// Makes one checkpoint of what the ranks wrote; returns its size.
std::uint64_t Checkpointer::complete(const std::string& unfinished,
                                     const std::vector<std::string>& texts) {
  WrittenFiles all;
  for (const std::string& text : texts) all.append(written_files_from(text));
  const std::uint64_t bytes = all.bytes();
  std::uint64_t xxh3 = 0;
  gather_or_fail(comm_, [&]() -> std::string {
    if (comm_.rank() != 0) return {};
    xxh3 = write_manifest(unfinished, step_, std::move(all), base_diff_.previous());
    put_in_place(rules_.folder, step_);
    return {};
  });
  base_diff_.completed(step_, xxh3);
  return bytes;
}

}  // namespace skep
