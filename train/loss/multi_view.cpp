#include "train/loss/multi_view.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/error.h"

namespace skep {
namespace {

constexpr double unseen = std::numeric_limits<double>::infinity();  // a rank without tokens so far

bool all_finite(std::span<const ViewLoss> views) {
  return std::all_of(views.begin(), views.end(),
                     [](const ViewLoss& view) { return std::isfinite(view.loss_sum); });
}

}  // namespace

std::vector<double> tilted_weights(std::span<const ViewLoss> views, double temperature) {
  std::vector<double> weights(views.size(), 1);
  if (!all_finite(views)) return weights;
  double top = -std::numeric_limits<double>::infinity();  // of t l
  for (const ViewLoss& view : views)
    if (view.tokens > 0) top = std::max(top, temperature * view.loss_sum / view.tokens);
  double tokens = 0, tilted = 0;
  for (std::size_t r = 0; r < views.size(); ++r) {
    if (views[r].tokens == 0) continue;
    weights[r] = std::exp(temperature * views[r].loss_sum / views[r].tokens - top);
    tokens += views[r].tokens;
    tilted += views[r].tokens * weights[r];
  }
  if (tokens == 0) return weights;
  for (std::size_t r = 0; r < views.size(); ++r)
    if (views[r].tokens > 0) weights[r] *= tokens / tilted;
  return weights;
}

ViewWeights::ViewWeights(const ViewSettings& settings) : settings_(settings) {
  if (settings.known == ViewSettings::Known::past_steps && !(settings.ema > 0))
    fail(ErrorKind::usage,
         "loss.view_weighting adaptive with several micro-batches a step must be made of past "
         "losses: set loss.ema greater than 0, or batch.micro_batch to 0");
}

double ViewWeights::weight(const ViewLoss& own, Communicator& comm) {
  if (settings_.known == ViewSettings::Known::this_step) look(own, comm);
  factors_ = views_.empty() ? std::vector<double>{} : tilted_weights(views_, settings_.temperature);
  return factors_.empty() ? 1 : factors_[static_cast<std::size_t>(comm.rank())];
}

void ViewWeights::end_step(const ViewLoss& own, Communicator& comm) {
  if (settings_.known == ViewSettings::Known::past_steps) look(own, comm);
}

// Every rank sees the same numbers, so every rank goes the same way.
void ViewWeights::look(const ViewLoss& own, Communicator& comm) {
  const std::vector<double> mine{own.loss_sum, own.tokens};
  std::vector<double> all(2 * static_cast<std::size_t>(comm.size()));
  comm.all_gather(mine, all);
  std::vector<ViewLoss> now;
  for (std::size_t i = 0; i < all.size(); i += 2) now.push_back({all[i], all[i + 1]});
  if (!all_finite(now)) {  // the step will be skipped; what past ones were like stays
    if (settings_.known == ViewSettings::Known::this_step) views_.clear();
    return;
  }
  means_.resize(now.size(), unseen);
  for (std::size_t r = 0; r < now.size(); ++r) {
    if (now[r].tokens == 0) continue;
    const double mean = now[r].loss_sum / now[r].tokens;
    means_[r] = means_[r] == unseen ? mean : settings_.ema * means_[r] + (1 - settings_.ema) * mean;
    now[r].loss_sum = means_[r] * now[r].tokens;
  }
  views_ = std::move(now);
}

void ViewWeights::archive(Archive& archive, int ranks) {
  if (settings_.ema == 0) return;
  std::int64_t saved = means_.empty() ? 0 : ranks;
  archive.field("view_ranks", saved);
  if (saved == 0) return;
  if (saved != ranks)
    fail(ErrorKind::data,
         "the checkpoint remembers the losses of {} ranks, one by one: resume with {} ranks", saved,
         saved);
  state_ = empty({3, ranks}, DType::f64);
  views_.resize(static_cast<std::size_t>(ranks));
  means_.resize(static_cast<std::size_t>(ranks), unseen);
  const auto each = [&](auto visit) {
    for (std::size_t r = 0; r < views_.size(); ++r) {
      double* column = state_.data<double>() + r;
      visit(column[0], means_[r]);
      visit(column[ranks], views_[r].loss_sum);
      visit(column[2 * ranks], views_[r].tokens);
    }
  };
  each([](double& stored, double value) { stored = value; });
  archive.field("view_losses", state_);
  each([](double stored, double& value) { value = stored; });
}

}  // namespace skep
