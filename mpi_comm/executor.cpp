#include "mpi_comm/executor.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <utility>

#include "mpi_comm/comm_error.h"

namespace skep {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds farewell{500};

}  // namespace

Pending::Pending(Executor& executor, Execution& execution)
    : executor_(&executor), execution_(&execution), exceptions_(std::uncaught_exceptions()) {}

Pending::Pending(Pending&& other) noexcept
    : executor_(other.executor_),
      execution_(std::exchange(other.execution_, nullptr)),
      exceptions_(other.exceptions_) {}

Pending::~Pending() {
  if (execution_ == nullptr) return;
  if (std::uncaught_exceptions() == exceptions_) {
    wait();
    return;
  }
  // An exception passes and the buffer is about to vanish under the messages. Mostly the other
  // ranks are in the same collective and it completes; if not, nobody may touch the buffer again.
  if (!executor_->try_wait(*execution_, farewell)) executor_->transport_.abandon();
}

bool Pending::done() const { return execution_ == nullptr || executor_->complete(*execution_); }

void Pending::wait() {
  if (execution_ == nullptr) return;
  executor_->wait_until(*execution_, [&] { return executor_->complete(*execution_); });
  executor_->release(*std::exchange(execution_, nullptr));
}

Executor::Executor(Transport& transport, Traffic& traffic,
                   std::unique_ptr<FingerprintChannel> channel)
    : transport_(transport), traffic_(traffic), agreement_(std::move(channel), recorder_) {}

Pending Executor::start(Plan plan, const PlanBuffer& buffer, Combine how) {
  Execution& execution = take();
  const std::uint64_t sequence = started_++;
  execution.set_sequence(sequence);
  TrafficCounts& counts = traffic_.of(plan.topology);
  const Fingerprint call = fingerprint_of(plan, buffer, how, sequence, transport_.rank());
  recorder_.start(call, plan.rounds.size());
  agreement_.announce(call, plan.group, counts);
  const int tag = static_cast<int>(sequence % static_cast<std::uint64_t>(transport_.tag_count()));
  execution.begin(std::move(plan), buffer, how, tag, pieces_, counts);
  if (agreement_.check() == Check::full)
    wait_until(execution, [&] { return agreement_.reached(sequence); });
  return set_off(execution);
}

Pending Executor::start(const LibraryCall& call) {
  TrafficCounts& counts = traffic_.of(library_name);
  const std::uint64_t sequence = enter(call, counts);
  Execution& execution = take();
  execution.set_sequence(sequence);
  execution.begin(call, counts);
  return set_off(execution);
}

void Executor::run(const LibraryCall& call) {
  for (Execution* execution : in_flight_)
    wait_until(*execution, [&] { return complete(*execution); });
  TrafficCounts& counts = traffic_.of(library_name);
  const std::uint64_t sequence = enter(call, counts);
  ++counts.collectives;
  recorder_.wait_for(sequence);
  const Clock::time_point since = Clock::now();
  transport_.call(call);
  counts.wait_seconds += std::chrono::duration<double>(Clock::now() - since).count();
  recorder_.reach(sequence, 1);
  recorder_.go_on();
}

// The messages are the library's business: the buffer's bytes are all there is to count. What the
// ranks call is compared beforehand or not at all: once inside the library, nobody can listen.
std::uint64_t Executor::enter(const LibraryCall& call, TrafficCounts& counts) {
  counts.bytes_sent += call.data.size_bytes();
  Fingerprint print;
  print.sequence = started_++;
  print.count = call.data.count();
  print.rank = transport_.rank();
  if (call.what == Collective::broadcast) print.root = call.root;
  print.type = call.data.type();
  print.how = call.how;
  print.operation = name_of(call.what);
  print.topology = library_name;
  recorder_.start(print, 1);
  if (agreement_.check() == Check::full) {
    std::vector<int> everybody(static_cast<std::size_t>(transport_.size()));
    std::iota(everybody.begin(), everybody.end(), 0);
    agreement_.announce(print, everybody, counts);
    while (!agreement_.reached(print.sequence))
      if (!progress()) transport_.idle();
  }
  return print.sequence;
}

Execution& Executor::take() {
  if (spare_.empty()) {
    spare_.push_back(all_.emplace_back(std::make_unique<Execution>()).get());
    in_flight_.reserve(all_.size());
  }
  Execution& execution = *spare_.back();
  spare_.pop_back();
  return execution;
}

Pending Executor::set_off(Execution& execution) {
  in_flight_.push_back(&execution);
  Pending pending(*this, execution);
  advance(execution);  // the first messages leave now
  return pending;
}

bool Executor::advance(Execution& execution) {
  try {
    const bool moved = execution.advance(transport_);
    if (moved) recorder_.reach(execution.sequence(), execution.round());
    return moved;
  } catch (const CommError& error) {
    if (error.kind() == CommFailure::bug) agreement_.look_for_mismatch();
    throw;
  }
}

bool Executor::progress() {
  bool moved = agreement_.progress();
  for (Execution* execution : in_flight_) moved |= advance(*execution);
  return moved;
}

void Executor::set_max_chunk(std::size_t elements) {
  comm_check(elements >= 1 && elements <= largest_chunk, "max_chunk is {} elements; choose 1 to {}",
             elements, largest_chunk);
  comm_check(in_flight_.empty(), "max_chunk cannot change while {} collectives are in flight",
             in_flight_.size());
  pieces_.max_chunk = elements;
}

void Executor::set_check(Check check) {
  comm_check(in_flight_.empty(), "the check cannot change while {} collectives are in flight",
             in_flight_.size());
  agreement_.set_check(check);
}

template <class Condition>
void Executor::wait_until(Execution& execution, Condition condition) {
  if (condition()) return;
  recorder_.wait_for(execution.sequence());
  while (!condition()) {
    if (progress()) continue;
    const Clock::time_point since = Clock::now();
    do transport_.idle();
    while (!progress());
    execution.counts().wait_seconds += std::chrono::duration<double>(Clock::now() - since).count();
  }
  recorder_.go_on();
}

bool Executor::try_wait(Execution& execution, std::chrono::milliseconds limit) noexcept {
  if (gave_up_ || agreement_.failed()) return execution.done();
  try {
    const Clock::time_point end = Clock::now() + limit;
    while (!execution.done() && Clock::now() < end)
      if (!progress()) transport_.idle();
  } catch (...) {  // a second failure: the first one is what will be reported
  }
  gave_up_ = !execution.done();
  return execution.done();
}

void Executor::release(Execution& execution) {
  in_flight_.erase(std::find(in_flight_.begin(), in_flight_.end(), &execution));
  spare_.push_back(&execution);
}

}  // namespace skep
