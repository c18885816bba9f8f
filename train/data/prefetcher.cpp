#include "train/data/prefetcher.h"

#include <chrono>
#include <utility>

#include "engine/core/error.h"

namespace skep {

double Prefetcher::steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Prefetcher::Prefetcher(Make make, BatchSplit split, Settings settings, Clock clock)
    : make_(std::move(make)), split_(split), settings_(settings), clock_(std::move(clock)) {
  check(settings.workers >= 0 && settings.depth >= 1, "prefetcher: {} workers, depth {}",
        settings.workers, settings.depth);
  slots_.resize(settings.workers == 0 ? 1 : static_cast<std::size_t>(settings.depth) + 1);
}

const Batch& Prefetcher::micro_batch(std::int64_t position, std::int64_t index) {
  const double asked = clock_();
  const Place place{position, index};
  const Batch& batch = settings_.workers == 0 ? made_now(place) : made_ahead(place);
  waited_seconds_ += clock_() - asked;
  return batch;
}

const Batch& Prefetcher::made_now(Place place) {
  make_(place.position, place.index, slots_[0].batch);
  return slots_[0].batch;
}

const Batch& Prefetcher::made_ahead(Place place) {
  if (threads_.empty() || place != wanted_) start(place);
  std::unique_lock lock(mutex_);
  Slot& next = slot(taken_);
  changed_.wait(lock, [&] { return next.ready; });
  if (next.failure) std::rethrow_exception(next.failure);
  // The batch handed out before this one is free now, and its slot may be filled again.
  next.ready = false;
  ++taken_;
  wanted_ = after(place);
  changed_.notify_all();
  return next.batch;
}

void Prefetcher::start(Place first) {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
  for (Slot& slot : slots_) slot.ready = false, slot.failure = nullptr;
  wanted_ = unmade_ = first;
  taken_ = begun_ = 0;
  for (std::int64_t i = 0; i < settings_.workers; ++i)
    threads_.emplace_back([this](std::stop_token stop) { work(std::move(stop)); });
}

// Batch n may be begun once batch n - depth is handed out, which frees the slot of the one before.
void Prefetcher::work(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return begun_ < taken_ + settings_.depth; })) {
    if (stop.stop_requested()) return;
    Slot& own = slot(begun_++);
    const Place place = std::exchange(unmade_, after(unmade_));
    lock.unlock();
    std::exception_ptr failure;
    try {
      make_(place.position, place.index, own.batch);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    own.failure = failure;
    own.ready = true;
    changed_.notify_all();
  }
}

Prefetcher::Place Prefetcher::after(Place place) const {
  if (place.index + 1 < split_.accumulation) return {place.position, place.index + 1};
  return {place.position + split_.global_batch(), 0};
}

}  // namespace skep
