#include "train/checkpoint/origins.h"

#include <fmt/format.h>

#include <algorithm>

namespace skep {
namespace {

using Absent = FieldOrigin::Absent;
using Of = FieldOrigin::Of;

constexpr std::string_view partial_gradient = "the gradient of a period's steps so far";
constexpr FieldOrigin origins[] = {
    {"gathered_", partial_gradient, "sync.rule", Absent::begins_empty, Of::each_rank},
    {"partial_", partial_gradient, "sync.rule", Absent::begins_empty, Of::each_rank},
    {"not_finite", partial_gradient, "sync.rule", Absent::begins_empty, Of::each_rank},
    {"out_of_range", partial_gradient, "sync.rule", Absent::begins_empty, Of::each_rank},
    {"residual_", "residuals, what a codec had not sent yet",
     "compress.codec and compress.error_feedback", Absent::begins_empty, Of::each_rank},
    {"view_", "the losses of the ranks' views so far", "loss.view_weighting and loss.ema",
     Absent::begins_empty, Of::the_run},
    {"best_", "the best weights so far", "schedule.restart_from", Absent::begins_empty,
     Of::the_run},
    {"outer_", "the outer step's momentum", "sync.rule", Absent::refused, Of::the_run},
    {"log_variances", "the learned weights of the losses", "loss.task_weighting", Absent::refused,
     Of::the_run},
};

}  // namespace

const FieldOrigin* origin_of(std::string_view field) {
  const auto* found = std::find_if(std::begin(origins), std::end(origins),
                                   [&](const auto& o) { return field.starts_with(o.prefix); });
  return found == std::end(origins) ? nullptr : found;
}

bool Leftovers::missing(std::string_view field) {
  const FieldOrigin* origin = origin_of(field);
  if (origin == nullptr || origin->absent == Absent::refused) return false;
  add(fmt::format("the checkpoint does not have {}: begun anew ({})", origin->what, origin->keys));
  return true;
}

void Leftovers::unread(std::string_view field) {
  if (const FieldOrigin* origin = origin_of(field))
    add(fmt::format("the checkpoint also has {}: dropped, as {} is not what it was", origin->what,
                    origin->keys));
}

void Leftovers::add(std::string note) {
  if (std::find(notes_.begin(), notes_.end(), note) == notes_.end())
    notes_.push_back(std::move(note));
}

}  // namespace skep
