#include "mpi_comm/flight_recorder.h"

#include <chrono>

namespace skep {
namespace {

std::int64_t now_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

FlightRecorder::FlightRecorder() : slots_(std::make_unique<Slots>()) {}

void FlightRecorder::start(const Fingerprint& call, std::size_t rounds) {
  const std::size_t slot = call.sequence % capacity;
  const std::int64_t now = now_ns();
  slots_->own[slot] = {
      call, 0, static_cast<std::uint32_t>(rounds), now, rounds == 0 ? now : 0, own_activity_};
  slots_->shared[slot].store(slots_->own[slot]);
  started_.store(call.sequence + 1, std::memory_order_release);
  live();
}

void FlightRecorder::reach(std::uint64_t sequence, std::size_t round) {
  CollectiveRecord& record = slots_->own[sequence % capacity];
  if (record.call.sequence != sequence) return;  // overwritten: 256 others have started since
  record.round = static_cast<std::uint32_t>(round);
  if (record.round == record.rounds) record.end_ns = now_ns();
  slots_->shared[sequence % capacity].store(record);
  live();
}

void FlightRecorder::wait_for(std::uint64_t sequence) {
  awaited_.store(sequence, std::memory_order_release);
  live();
}

void FlightRecorder::go_on() {
  awaited_.store(nothing, std::memory_order_release);
  live();
}

void FlightRecorder::doing(std::string_view what, std::string_view where) {
  own_activity_ = Activity(what, where);
  activity_.store(own_activity_);
  live();
}

std::optional<CollectiveRecord> FlightRecorder::find(std::uint64_t sequence) const {
  if (sequence >= started()) return {};
  const CollectiveRecord record = slots_->shared[sequence % capacity].load();
  if (record.call.sequence != sequence) return {};
  return record;
}

std::optional<CollectiveRecord> FlightRecorder::awaited() const {
  const std::uint64_t sequence = awaited_.load(std::memory_order_acquire);
  return sequence == nothing ? std::nullopt : find(sequence);
}

std::vector<CollectiveRecord> FlightRecorder::records() const {
  const std::uint64_t end = started();
  std::vector<CollectiveRecord> all;
  for (std::uint64_t i = end > capacity ? end - capacity : 0; i < end; ++i)
    if (const auto record = find(i)) all.push_back(*record);
  return all;
}

}  // namespace skep
