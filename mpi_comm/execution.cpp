#include "mpi_comm/execution.h"

#include <algorithm>
#include <utility>

namespace skep {
namespace {

// Calls visit(begin, count) for the pieces of a range, none longer than max_chunk.
template <class Visit>
void for_each_chunk(Range range, std::size_t max_chunk, Visit visit) {
  for (std::size_t begin = range.begin; begin < range.end; begin += max_chunk)
    visit(begin, std::min(max_chunk, range.end - begin));
}

}  // namespace

void Execution::begin(Plan plan, const PlanBuffer& buffer, Combine how, int tag,
                      std::size_t max_chunk, TrafficCounts& counts) {
  plan_ = std::move(plan);
  buffer_ = buffer;
  how_ = how;
  tag_ = tag;
  max_chunk_ = max_chunk;
  counts_ = &counts;
  round_ = 0;
  posted_ = false;
  ++counts.collectives;
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
  const bool combining = round.on_arrival == OnArrival::combine;
  arrivals_.clear();
  departures_.clear();
  arrived_ = departed_ = 0;
  if (combining) {
    std::size_t elements = 0;
    for (const Transfer& transfer : round.receives) elements += transfer.range.size();
    const std::size_t bytes = elements * size_of(buffer_.type());
    if (inbox_.size() < bytes) inbox_.resize(bytes);
  }
  std::size_t inbox_bytes = 0;
  for (const auto& [peer, range] : round.receives)
    for_each_chunk(range, max_chunk_, [&, peer = peer](std::size_t begin, std::size_t count) {
      const WireSpan target = buffer_.write(begin, count);
      const WireSpan landing =
          combining ? WireSpan{inbox_.data() + inbox_bytes, count, buffer_.type()} : target;
      inbox_bytes += target.size_bytes();
      arrivals_.push_back({transport.receive(peer, tag_, landing), landing, target});
    });
  for (const auto& [peer, range] : round.sends)
    for_each_chunk(range, max_chunk_, [&, peer = peer](std::size_t begin, std::size_t count) {
      const WireView piece = buffer_.read(begin, count);
      departures_.push_back(transport.send(peer, tag_, piece));
      ++counts_->messages_sent;
      counts_->bytes_sent += piece.size_bytes();
    });
  posted_ = true;
}

bool Execution::collect(Transport& transport) {
  const std::size_t before = arrived_ + departed_;
  for (; arrived_ < arrivals_.size(); ++arrived_) {
    const Arrival& arrival = arrivals_[arrived_];
    if (!transport.test(arrival.ticket)) break;
    if (arrival.landing.data() != arrival.target.data())
      combine(how_, arrival.target, arrival.landing);
    ++counts_->messages_received;
    counts_->bytes_received += arrival.landing.size_bytes();
  }
  while (departed_ < departures_.size() && transport.test(departures_[departed_])) ++departed_;
  return arrived_ + departed_ > before;
}

}  // namespace skep
