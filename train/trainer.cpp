#include "train/trainer.h"

#include <chrono>
#include <cmath>
#include <limits>

#include "engine/autograd/tape.h"
#include "engine/backends/transfer.h"
#include "engine/core/background.h"
#include "train/clip.h"
#include "train/evaluate.h"
#include "train/hash.h"
#include "train/health/diagnosis.h"
#include "train/observe/narrator.h"
#include "train/sync/average.h"

namespace skep {
namespace {

constexpr std::int64_t most_skips_in_a_row = 20;
constexpr std::int64_t most_unlearned_before_save = 3;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool due(std::int64_t step, std::int64_t every) { return every > 0 && step % every == 0; }

}  // namespace

Trainer::Trainer(Parts& parts, const Limits& limits)
    : parts_(parts),
      limits_(limits),
      phase_(&parts.phases->at(0)),
      unused_(limits.unused_parameters),
      checkpoints_(parts.comm, limits.checkpoints) {
  progress_.seed = static_cast<std::int64_t>(limits.seed);
  progress_.epoch_samples = parts.loader->epoch_samples();
  progress_.data_hash = static_cast<std::int64_t>(parts.train_data->hash());
  progress_.tokenizer_hash =
      parts.tokenizer ? static_cast<std::int64_t>(parts.tokenizer->hash()) : 0;
  if (const auto& chaos = parts.loader->chaos()) {
    progress_.chaos_seed = static_cast<std::int64_t>(chaos->seed());
    progress_.chaos_common = chaos->common();
    progress_.chaos_ranks = parts.comm.size();
  }
  parts.model->attach(make_narrator(parts.comm));
}

RunEnd Trainer::run() {
  if (came_apart_ && !apart()) become_one();
  if (progress_.step == 0 || !apart()) check_replicas();
  const Background messages([this] { phase_->sync->progress(); });
  while (progress_.step < limits_.steps) {
    begin_cycle();
    const double started = seconds_now();
    const Waits before = waited();
    Phase& phase = parts_.phases->at(progress_.step);  // which wires, which rule
    enter(phase);
    const SyncRound round{
        parts_.comm,    *phase.topology,        limits_.seed,
        progress_.step, parts_.scaler->scale(), progress_.step - phase.first_step};
    share_buffers(round);
    parts_.comm.set_phase("step");
    const double lr = parts_.schedule->at(progress_.step);

    StepTotals own = fill_gradients(round);  // batch -> logits -> loss -> tape backward
    own.stop_requests = limits_.stop_signal() != 0 ? 1 : 0;
    own.saves_written = checkpoints_.written() ? 1 : 0;
    parts_.comm.doing("the gradients' sync");
    const SyncOutcome sync = phase.sync->after_backward(*parts_.parameters, own, round);
    Outcome outcome;  // gradients have met the other ranks
    if (sync.update == Update::due) {
      outcome = update(sync.summed, lr);  // clip, then optimizer
      // Weights meet the other ranks, where the rule says so.
      phase.sync->after_update(*parts_.parameters, round,
                               outcome.updated ? StepEnd::updated : StepEnd::skipped);
    }
    const StepTotals& totals = sync.global;
    if (const std::string news = unused_.compare(*parts_.parameters, parts_.comm); !news.empty())
      say(fmt::format("step {}: {}", progress_.step + 1, news));

    ++progress_.step;
    progress_.position += parts_.loader->split().global_batch();
    progress_.tokens += std::llround(totals.tokens);
    const Waits after = waited();
    report(totals, outcome, lr, seconds_now() - started,
           {after.messages_seconds - before.messages_seconds,
            after.data_seconds - before.data_seconds});
    if (totals.saves_written == parts_.comm.size()) finish_save();
    note_learning(outcome, totals);
    stop_if_hopeless(outcome, totals);
    if (totals.stop_requests > 0 && progress_.step < limits_.steps) return stop();
    between_steps();
  }
  if (!end_cycle()) validate();
  finish_save();
  if (saved_step_ != progress_.step) save();
  finish_save();
  warn_of_repeats();
  return RunEnd::finished;
}

Trainer::Waits Trainer::waited() const {
  return {parts_.comm.traffic().total().wait_seconds, parts_.batches->waited_seconds()};
}

RunEnd Trainer::stop() {
  say(fmt::format("step {}: asked to stop; go on later with --run.resume auto", progress_.step));
  save();
  finish_save();
  warn_of_repeats();
  return RunEnd::stopped;
}

StepTotals Trainer::fill_gradients(const SyncRound& round) {
  StepTotals totals;
  phase_->sync->begin_step(*parts_.parameters);
  for (std::int64_t i = 0; i < parts_.loader->split().accumulation; ++i) {
    parts_.comm.doing("loading data");
    const Batch& batch = parts_.batches->micro_batch(progress_.position, i);
    Pass pass = training_pass(batch, limits_.seed);
    pass.activations = parts_.activations;
    Tape tape;  // records every op below
    const Tensor loss = parts_.objective->loss(*parts_.model, batch, pass);
    PendingValues loss_sum(loss);
    const double tokens = batch.counted_targets();
    double weight = 1;
    if (parts_.views) weight = parts_.views->weight({loss_sum.value(), tokens}, parts_.comm);
    phase_->sync->before_backward(*parts_.parameters, round,
                                  {i, parts_.loader->split().accumulation});
    parts_.comm.doing("backward of the loss");
    parts_.parameters->begin_backward();
    // Writes into parameters->grads(); what is complete may travel already.
    tape.backward(loss, parts_.scaler->scale() * weight);
    phase_->sync->end_backward();
    totals.loss_sum += loss_sum.value();
    totals.tokens += tokens;
    tasks_ = parts_.objective->tasks();
    for (std::size_t t = 0; t < tasks_.size(); ++t) totals.task_sums.at(t) += tasks_[t].loss_sum;
  }
  if (parts_.views) parts_.views->end_step({totals.loss_sum, totals.tokens}, parts_.comm);
  unused_.found(parts_.parameters->zero_unwritten(), progress_.step + 1, parts_.comm.rank());
  return totals;
}

// Ranks that were apart become one before they go on together.
void Trainer::enter(Phase& phase) {
  if (&phase == phase_) return;
  const bool were_apart = apart();
  phase_ = &phase;
  say(fmt::format("step {}: phase {}", progress_.step + 1, phase.name));
  if (were_apart && phase.sync->starts_from() == Replicas::equal) become_one();
}

void Trainer::become_one() {
  const double before = rejoin(*parts_.parameters, *parts_.optimizer, *parts_.scaler, parts_.comm);
  check_replicas();
  say(fmt::format("step {}: the ranks are one again: consensus distance {:.3g} before, 0 after",
                  progress_.step + 1, before));
}

// Where gradients meet, what they were computed with shall be the same. Ranks that are apart have
// buffers of their own, as they have weights.
void Trainer::share_buffers(const SyncRound& round) {
  const bool meets = !apart() && round.begins_period(phase_->sync->period());
  if (limits_.buffers == Buffers::own || !meets) return;
  parts_.comm.doing("sharing buffers");
  parts_.comm.set_phase("buffers");
  broadcast_buffers(*parts_.model, parts_.comm, round.route());
}

Trainer::Outcome Trainer::update(const StepTotals& summed, double lr) {
  if (summed.tokens == 0) {
    warn(progress_.step + 1, "every target of the batch is ignored; no update");
    return {0, false, true};
  }
  ParameterStore& store = *parts_.parameters;
  parts_.comm.doing("the optimizer's update");
  // All that a device is asked for comes before the first wait for it: by a factor of 0 the update
  // leaves itself out where the gradient is not finite.
  const bool finite_loss = std::isfinite(summed.loss_sum);
  Clip clip(store.working_grads(), summed.tokens * parts_.scaler->scale(), limits_.max_norm);
  if (finite_loss) {
    parts_.optimizer->update(store.working_values(), store.working_grads(), store.decay_ranges(),
                             lr, clip.factor());
    store.commit();
    if (!clip.finite()) parts_.optimizer->uncount();
  }
  const bool finite = finite_loss && clip.finite();
  if (finite) {
    parts_.scaler->look(LossScaler::Gradients::finite);
  } else {
    leave_out(clip.finite() ? "loss" : "gradient");
  }
  return {clip.norm(), finite, true};
}

// An update that was none: a smaller loss scale may help, or what happened is told.
void Trainer::leave_out(std::string_view not_finite) {
  const double scale = parts_.scaler->scale();
  if (!parts_.scaler->can_lower()) {
    tell_where_numbers_were_lost();
    if (parts_.scaler->handles_overflow()) give_up_scaling();
  }
  parts_.scaler->look(LossScaler::Gradients::overflowed);
  if (parts_.scaler->handles_overflow())
    say(fmt::format("step {}: the {} is not finite; no update, loss scale {:g} after {:g}",
                    progress_.step + 1, not_finite, parts_.scaler->told(parts_.scaler->scale()),
                    parts_.scaler->told(scale)));
  else
    warn(progress_.step + 1, fmt::format("the {} is not finite; no update", not_finite));
}

void Trainer::give_up_scaling() {
  fail(ErrorKind::non_finite,
       "step {}: the gradient still overflows at a loss scale of {:g}, and precision.min_scale "
       "forbids a lower one: that floor is too high, or the run has diverged: {}",
       progress_.step + 1, parts_.scaler->told(parts_.scaler->scale()), advice());
}

void Trainer::tell_where_numbers_were_lost() {
  const std::string line =
      diagnose(parts_, {progress_.step + 1, progress_.position, limits_.seed, limits_.run_folder},
               phase_->sync->replicas());
  if (skipped_in_a_row_ == 0) lost_numbers_ = line;
  say(line);
}

void Trainer::report(const StepTotals& totals, const Outcome& outcome, double lr,
                     double step_seconds, const Waits& waits) {
  StepReport r;
  r.step = progress_.step;
  r.epoch = static_cast<double>(progress_.position) / static_cast<double>(progress_.epoch_samples);
  r.loss = totals.tokens > 0 ? totals.loss_sum / totals.tokens
                             : std::numeric_limits<double>::quiet_NaN();
  r.lr = lr;
  r.grad_norm = outcome.norm;
  r.tokens = progress_.tokens;
  r.updates = parts_.optimizer->updates();
  r.tokens_per_second = totals.tokens / step_seconds;
  r.step_seconds = step_seconds;
  r.compute_seconds = step_seconds - waits.messages_seconds - waits.data_seconds;
  r.comm_wait_seconds = waits.messages_seconds;
  r.loader_wait_seconds = waits.data_seconds;
  r.bytes_sent = parts_.comm.traffic().total().bytes_sent;
  r.topology = phase_->topology->name();
  r.sync = phase_->sync->name();
  r.scale = parts_.scaler->told(parts_.scaler->scale());
  r.skipped = outcome.due && !outcome.updated;
  for (const Task& task : tasks_)
    r.tasks.push_back({task.name, totals.task_sums.at(r.tasks.size()) / totals.tokens, task.weight,
                       task.log_variance});
  if (parts_.views) r.view_weights = parts_.views->factors();
  parts_.comm.doing("reporting the step");
  for (const std::string& text : parts_.monitor->look(r)) warn(r.step, text);
  for (auto& observer : parts_.observers) observer->on_step(r);
}

// A step without a finite gradient now and then is noise; many in a row is a run that has diverged.
// Every rank has the same gradients, so every rank decides the same.
void Trainer::stop_if_hopeless(const Outcome& outcome, const StepTotals& totals) {
  if (!outcome.due) return;
  const bool harmless = totals.tokens == 0 || parts_.scaler->handles_overflow();
  skipped_in_a_row_ = outcome.updated || harmless ? 0 : skipped_in_a_row_ + 1;
  if (skipped_in_a_row_ >= most_skips_in_a_row)
    fail(ErrorKind::non_finite,
         "the gradient was not finite in {} steps in a row ({}), the last of them step {}: {}",
         skipped_in_a_row_, lost_numbers_, progress_.step, advice());
}

// While nothing is learned, nothing is saved: it would push out what was good. A scaler may take a
// few steps to find the scale that fits.
void Trainer::note_learning(const Outcome& outcome, const StepTotals& totals) {
  if (!outcome.due) return;
  const bool learned = outcome.updated || totals.tokens == 0;
  const bool scaling = parts_.scaler->handles_overflow() && std::isfinite(totals.loss_sum);
  unlearned_in_a_row_ = learned ? 0 : unlearned_in_a_row_ + 1;
  worth_saving_ = learned || (scaling && unlearned_in_a_row_ < most_unlearned_before_save);
}

// Ranks that are apart learn each for itself, and save together.
bool Trainer::all_find_worth_saving() {
  if (!apart()) return worth_saving_;
  return parts_.comm.all_reduce(std::int64_t{worth_saving_}, Combine::min) > 0;
}

// What the end of the run does anyway is not done twice.
void Trainer::between_steps() {
  if (due(progress_.step, limits_.hash_every)) compare_replicas();
  if (progress_.step == limits_.steps) return;
  if (!end_cycle() && due(progress_.step, limits_.eval_every)) validate();
  if (due(progress_.step, limits_.checkpoint_every) && all_find_worth_saving()) save();
}

std::optional<double> Trainer::validate() {
  if (!parts_.validation) return {};
  parts_.comm.doing("validation");
  parts_.comm.set_phase("validation");
  const StepTotals totals =
      evaluate(*parts_.model, *parts_.objective, *parts_.validation, parts_.comm);
  const double loss = totals.loss_sum / totals.tokens;
  for (auto& observer : parts_.observers) observer->on_validation(progress_.step, loss);
  if (!std::isfinite(loss))
    fail(ErrorKind::non_finite, "the validation loss after step {} is not finite: {}",
         progress_.step, advice());
  return loss;
}

bool Trainer::apart() const { return phase_->sync->replicas() == Replicas::apart; }

void Trainer::compare_replicas() {
  if (!apart()) return check_replicas();
  say(fmt::format("step {}: consensus distance {:.3g}", progress_.step,
                  consensus_distance(parts_.parameters->values(), parts_.comm)));
}

void Trainer::check_replicas() {
  parts_.comm.doing("comparing parameters");
  parts_.comm.set_phase("comparison");
  const Tensor& values = parts_.parameters->values();
  const auto bytes = std::span(static_cast<const std::byte*>(values.raw()), values.bytes());
  const std::vector<int> different = parts_.comm.all_equal(hash_bytes(bytes));
  if (!different.empty())
    fail(ErrorKind::bug, "after step {} the parameters of ranks {} differ from the other ranks'",
         progress_.step, fmt::join(different, ", "));
}

void Trainer::say(const std::string& text) {
  for (auto& observer : parts_.observers) observer->on_message(text);
}

void Trainer::warn(std::int64_t step, const std::string& text) {
  const std::string line = repeats_.add(step, text);
  if (line.empty()) return;
  for (auto& observer : parts_.observers) observer->on_warning(line);
}

void Trainer::warn_of_repeats() {
  for (const std::string& line : repeats_.untold())
    for (auto& observer : parts_.observers) observer->on_warning(line);
}

}  // namespace skep
