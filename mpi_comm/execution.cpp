#include "mpi_comm/execution.h"

#include <algorithm>
#include <utility>

namespace skep {
namespace {

// Calls visit(peer, begin, count) for the pieces of all transfers, none longer than max_chunk:
// first pieces first, so that an element meets the contributions of all peers while it is cached.
template <class Visit>
void for_each_piece(const std::vector<Transfer>& transfers, std::size_t max_chunk, Visit visit) {
  bool more = true;
  for (std::size_t offset = 0; more; offset += max_chunk) {
    more = false;
    for (const auto& [peer, range] : transfers) {
      if (offset >= range.size()) continue;
      visit(peer, range.begin + offset, std::min(max_chunk, range.size() - offset));
      more |= range.size() - offset > max_chunk;
    }
  }
}

}  // namespace

void Execution::begin(Plan plan, const PlanBuffer& buffer, Combine how, int tag,
                      const Pieces& pieces, TrafficCounts& counts) {
  plan_ = std::move(plan);
  call_.reset();
  buffer_ = buffer;
  how_ = how;
  tag_ = tag;
  pieces_ = pieces;
  counts_ = &counts;
  round_ = 0;
  posted_ = false;
  ++counts.collectives;
}

void Execution::begin(const LibraryCall& call, TrafficCounts& counts) {
  Plan one_round;
  one_round.rounds.resize(1);
  begin(std::move(one_round), call.data, call.how, 0, {1, 0}, counts);
  call_ = call;
}

bool Execution::advance(Transport& transport) {
  bool moved = false;
  while (!done()) {
    if (!posted_) post(transport);
    moved |= collect(transport);
    if (arrived_ < arrivals_.size() || departed_ < departures_.size()) break;
    ++round_;
    posted_ = false;
    moved = true;
  }
  return moved;
}

// Receives first: a message that finds its receive waiting is not copied twice.
void Execution::post(Transport& transport) {
  const Round& round = plan_.rounds[round_];
  if (round.before) round.before();
  arrivals_.clear();
  departures_.clear();
  arrived_ = awaited_ = departed_ = 0;
  for_each_piece(round.receives, pieces_.max_chunk,
                 [&](int peer, std::size_t begin, std::size_t count) {
                   arrivals_.push_back({peer, buffer_.write(begin, count)});
                 });
  prepare_inbox(round.on_arrival);
  await(transport);
  if (call_) departures_ = transport.begin_call(*call_);
  for_each_piece(round.sends, pieces_.max_chunk,
                 [&](int peer, std::size_t begin, std::size_t count) {
                   const WireView piece = buffer_.read(begin, count);
                   departures_.push_back(transport.send(peer, tag_, piece));
                   ++counts_->messages_sent;
                   counts_->bytes_sent += piece.size_bytes();
                 });
  posted_ = true;
}

// One slot a message while they are few or small. Of large ones only some are awaited at a time:
// the slots are used in turn and stay in cache.
void Execution::prepare_inbox(OnArrival action) {
  slot_bytes_ = 0;
  slots_ = arrivals_.size();
  if (action == OnArrival::copy || arrivals_.empty()) return;
  for (const Arrival& arrival : arrivals_)
    slot_bytes_ = std::max(slot_bytes_, arrival.target.size_bytes());
  slots_ = std::min(slots_, std::max<std::size_t>(2, pieces_.window_bytes / slot_bytes_));
  if (inbox_.size() < slots_ * slot_bytes_) inbox_.resize(slots_ * slot_bytes_);
}

WireSpan Execution::landing(std::size_t arrival) {
  const WireSpan& target = arrivals_[arrival].target;
  if (slot_bytes_ == 0) return target;
  return {inbox_.data() + arrival % slots_ * slot_bytes_, target.count(), target.type()};
}

void Execution::await(Transport& transport) {
  for (; awaited_ < std::min(arrivals_.size(), arrived_ + slots_); ++awaited_) {
    Arrival& arrival = arrivals_[awaited_];
    arrival.ticket = transport.receive(arrival.peer, tag_, landing(awaited_));
  }
}

bool Execution::collect(Transport& transport) {
  const std::size_t before = arrived_ + departed_;
  while (arrived_ < arrivals_.size() && transport.test(arrivals_[arrived_].ticket)) {
    const WireSpan& target = arrivals_[arrived_].target;
    if (slot_bytes_ > 0) combine(how_, target, landing(arrived_));
    ++counts_->messages_received;
    counts_->bytes_received += target.size_bytes();
    ++arrived_;
    await(transport);
  }
  while (departed_ < departures_.size() && transport.test(departures_[departed_])) ++departed_;
  return arrived_ + departed_ > before;
}

}  // namespace skep
