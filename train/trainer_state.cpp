// The trainer between runs: what it saves, how it goes on from a checkpoint, and what it advises
// when numbers are lost. The loop is in trainer.cpp.
#include <algorithm>

#include "train/checkpoint/load.h"
#include "train/checkpoint/room.h"
#include "train/trainer.h"

namespace skep {
namespace {

// Who meets which sample depends on the number of ranks.
void require_same_deal(const std::string& checkpoint, const Progress& saved, const Progress& now) {
  const auto sharding = [](const Progress& p) { return p.chaos_ranks > 0 ? "chaos" : "even"; };
  if ((saved.chaos_ranks > 0) != (now.chaos_ranks > 0))
    fail(ErrorKind::data, "{}: cannot continue this run: its data.sharding was {}, now it is {}",
         checkpoint, sharding(saved), sharding(now));
  if (saved.chaos_ranks != now.chaos_ranks)
    fail(ErrorKind::data,
         "{}: data.sharding chaos has dealt the data of this run to {} ranks, not to {}: resume "
         "with {} ranks",
         checkpoint, saved.chaos_ranks, now.chaos_ranks, saved.chaos_ranks);
}

}  // namespace

std::string Trainer::advice() const {
  if (saved_step_ < 0) return "there is no checkpoint yet; start again with a lower optim.lr";
  return fmt::format("go back to a checkpoint in {} (the last is step-{}) with a lower optim.lr",
                     limits_.checkpoints.folder, saved_step_);
}

// Copies the state; a thread writes it while training goes on.
void Trainer::save() {
  finish_save();
  parts_.comm.doing("saving a checkpoint");
  parts_.comm.set_phase("checkpoint");
  const std::int64_t last_step = progress_.position - parts_.loader->split().global_batch();
  witness_ = call_witness(*parts_.model, *parts_.objective, *parts_.loader, parts_.device.device,
                          std::max<std::int64_t>(last_step, 0), parts_.parameters->compute_type());
  checkpoints_.begin(progress_.step, content());
}

// Called on all ranks at once: when the step's totals say that all have written, or to wait for it.
void Trainer::finish_save() {
  parts_.comm.doing("completing a checkpoint");
  parts_.comm.set_phase("checkpoint");
  const auto saved = checkpoints_.finish();
  if (!saved) return;
  saved_step_ = saved->step;
  say(fmt::format("saved {} (training waited {:.3f} s, complete after {:.3f} s, {} bytes{}{})",
                  saved->path, saved->stall_seconds, saved->total_seconds, saved->bytes,
                  saved->link.empty() ? "" : ", ", saved->link));
}

CheckpointContent Trainer::content() {
  progress_.apart = apart();
  return {*parts_.model,
          *parts_.parameters,
          parts_.tokenizer.get(),
          [this](Archive& archive) {
            progress_.archive(archive);
            witness_.archive(archive);
            archive_buffers(*parts_.model, archive);
            parts_.optimizer->archive(archive);
            parts_.objective->archive(archive);
            if (parts_.best) parts_.best->archive(archive);
            parts_.scaler->archive(archive);
            if (parts_.views) parts_.views->archive(archive, parts_.comm.size());
            parts_.phases->archive(archive, *parts_.parameters, progress_.step);
            parts_.reduction->archive(archive);
          },
          parts_.comm.rank(),
          parts_.comm.size(),
          apart() ? CheckpointContent::Replicas::apart
          : phase_->sync->keeps_state() || parts_.reduction->keeps_state()
              ? CheckpointContent::Replicas::own_state
              : CheckpointContent::Replicas::equal};
}

double Trainer::checkpoint_bytes() { return skep::checkpoint_bytes(content()); }

std::vector<std::string> Trainer::resume(const std::string& checkpoint) {
  const Progress configured = progress_;
  std::vector<std::string> notes = load_checkpoint(checkpoint, content());
  came_apart_ = progress_.apart != 0;
  if (progress_.step > 0) phase_ = &parts_.phases->at(progress_.step - 1);
  saved_step_ = progress_.step;
  auto must_match = [&](std::string_view what, std::int64_t saved, std::int64_t now) {
    if (saved != now)
      fail(ErrorKind::data, "{}: cannot continue this run: its {} was {}, now it is {}", checkpoint,
           what, saved, now);
  };
  must_match("run.seed", progress_.seed, configured.seed);
  require_same_deal(checkpoint, progress_, configured);
  must_match("data.chaos_seed", progress_.chaos_seed, configured.chaos_seed);
  must_match("number of common samples (data.common_fraction)", progress_.chaos_common,
             configured.chaos_common);
  if (progress_.epoch_samples != configured.epoch_samples)
    fail(ErrorKind::data,
         "{}: cannot continue this run: its number of samples in an epoch was {}, now it is {}: "
         "data.train, data.val, data.val_fraction, data.drop_last or model.context has changed",
         checkpoint, progress_.epoch_samples, configured.epoch_samples);
  if (progress_.tokenizer_hash != configured.tokenizer_hash)
    fail(ErrorKind::data,
         "{}: cannot continue this run: data.tokenizer is not the one it has trained with",
         checkpoint);
  if (progress_.data_hash != configured.data_hash)
    fail(ErrorKind::data,
         "{}: cannot continue this run: the text of data.train is not the one it has trained on",
         checkpoint);
  const Witness now =
      call_witness(*parts_.model, *parts_.objective, *parts_.loader, parts_.device.device,
                   witness_.sample, parts_.parameters->compute_type());
  if (now.compute == witness_.compute) {
    require_same(witness_, now, checkpoint);
  } else {
    notes.push_back(
        "precision.compute is not what it was: the loss that was saved to compare with "
        "is left aside");
  }
  return notes;
}

void Progress::archive(Archive& archive) {
  archive.field("step", step);
  archive.field("position", position);
  archive.field("tokens", tokens);
  archive.field("cycle_end", cycle_end);
  archive.field("seed", seed);
  archive.field("epoch_samples", epoch_samples);
  archive.field("tokenizer_hash", tokenizer_hash);
  archive.field("data_hash", data_hash);
  archive.field("chaos_seed", chaos_seed);
  archive.field("chaos_common", chaos_common);
  archive.field("chaos_ranks", chaos_ranks);
  archive.field("apart", apart);
}

}  // namespace skep
