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

// Texts, and with them what all ranks write alike.
std::vector<FileImage> model_files(const CheckpointContent& content) {
  std::vector<FileImage> files;
  files.emplace_back("model/model.safetensors",
                     model_tensors(content.model.config(), content.parameters), model_metadata());
  files.emplace_back("model/config.json", to_config_json(content.model.config()));
  if (content.tokenizer)
    for (const auto& [name, text] : content.tokenizer->files())
      files.emplace_back("model/" + name, text);
  return files;
}

std::vector<FileImage> state_files(const CollectingArchive& archive, const std::string& folder) {
  std::vector<FileImage> files;
  files.emplace_back(folder + "state.safetensors", archive.tensors(), Metadata{});
  files.emplace_back(folder + "state.json", archive.numbers());
  return files;
}

void prepare(const std::string& unfinished, int own_folders) {
  fs::remove_all(unfinished);
  make_directories(unfinished + "/model");
  for (int rank = 0; rank < own_folders; ++rank)
    make_directories(unfinished + "/" + rank_folder(rank));
}

}  // namespace

Checkpointer::Checkpointer(Communicator& comm, std::string folder, std::int64_t keep)
    : comm_(comm), folder_(std::move(folder)), keep_(keep) {}

// A run that ends on an error does not wait for a big file.
Checkpointer::~Checkpointer() { give_up_ = true; }

void Checkpointer::begin(std::int64_t step, const CheckpointContent& content) {
  check(!writing_.valid(), "checkpoint of step {} while that of step {} is under way", step, step_);
  begun_ = Clock::now();
  step_ = step;
  if (tidying_.valid()) tidying_.get();
  const std::string unfinished = unfinished_path(folder_, step);
  gather_or_fail(comm_, [&]() -> std::string {
    const bool own = content.replicas != CheckpointContent::Replicas::equal;
    if (comm_.rank() == 0) prepare(unfinished, own ? comm_.size() : 0);
    return {};
  });
  copy(content);
  writing_ = std::async(std::launch::async,
                        [this, unfinished] { return snapshot_.write(unfinished, give_up_); });
  stall_seconds_ = std::chrono::duration<double>(Clock::now() - begun_).count();
}

void Checkpointer::copy(const CheckpointContent& content) {
  snapshot_.clear();
  const auto archive = make_collecting_archive();
  if (content.replicas == CheckpointContent::Replicas::equal) {
    content.archive(*archive);
    return copy_model(content, state_files(*archive, ""));
  }
  archive_own_state(content, *archive);
  for (const FileImage& file : state_files(*archive, rank_folder(comm_.rank()) + "/"))
    snapshot_.add(file);
  if (content.replicas == CheckpointContent::Replicas::own_state) return copy_model(content, {});
  // The model for everyone to use is the mean of the replicas.
  const Tensor& values = content.parameters.values();
  const Tensor own = empty_like(values);
  skep::copy(own, values);
  average(values, comm_);
  copy_model(content, {});
  skep::copy(values, own);
}

void Checkpointer::copy_model(const CheckpointContent& content, std::vector<FileImage> shared) {
  std::vector<FileImage> files = model_files(content);
  for (FileImage& file : shared) files.push_back(std::move(file));
  snapshot_.add_share(files, comm_.rank(), comm_.size());
}

bool Checkpointer::written() const {
  return writing_.valid() &&
         writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

std::optional<SavedCheckpoint> Checkpointer::finish() {
  if (!writing_.valid()) return {};
  const auto started = Clock::now();
  const std::string unfinished = unfinished_path(folder_, step_);
  try {
    const auto texts = gather_or_fail(comm_, [&] { return to_text(writing_.get()); });
    gather_or_fail(comm_, [&]() -> std::string {
      if (comm_.rank() != 0) return {};
      std::vector<WrittenPart> all;
      for (const std::string& text : texts)
        for (WrittenPart& part : parts_from(text)) all.push_back(std::move(part));
      write_manifest(unfinished, step_, std::move(all));
      put_in_place(folder_, step_);
      return {};
    });
  } catch (const Error&) {
    std::error_code ignored;
    if (comm_.rank() == 0) fs::remove_all(unfinished, ignored);  // half of one only fills the disk
    throw;
  }
  if (comm_.rank() == 0)
    tidying_ = std::async(std::launch::async, [this] { prune_checkpoints(folder_, keep_); });
  const auto now = Clock::now();
  return SavedCheckpoint{step_, checkpoint_path(folder_, step_),
                         stall_seconds_ + std::chrono::duration<double>(now - started).count(),
                         std::chrono::duration<double>(now - begun_).count()};
}

}  // namespace skep
