#include "mpi_comm/executor.h"

#include <algorithm>
#include <chrono>
#include <exception>
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

bool Pending::done() const { return execution_ == nullptr || execution_->done(); }

void Pending::wait() {
  if (execution_ == nullptr) return;
  executor_->wait(*execution_);
  executor_->release(*std::exchange(execution_, nullptr));
}

Executor::Executor(Transport& transport, Traffic& traffic)
    : transport_(transport), traffic_(traffic) {}

Pending Executor::start(Plan plan, const PlanBuffer& buffer, Combine how) {
  if (spare_.empty()) {
    spare_.push_back(all_.emplace_back(std::make_unique<Execution>()).get());
    in_flight_.reserve(all_.size());
  }
  Execution& execution = *spare_.back();
  spare_.pop_back();
  in_flight_.push_back(&execution);
  const int tag = static_cast<int>(started_++ % static_cast<std::uint64_t>(transport_.tag_count()));
  TrafficCounts& counts = traffic_.of(plan.topology);
  execution.begin(std::move(plan), buffer, how, tag, max_chunk_, counts);
  Pending pending(*this, execution);
  execution.advance(transport_);  // the first messages leave now
  return pending;
}

bool Executor::progress() {
  bool moved = false;
  for (Execution* execution : in_flight_) moved |= execution->advance(transport_);
  return moved;
}

void Executor::set_max_chunk(std::size_t elements) {
  comm_check(elements >= 1 && elements <= default_max_chunk,
             "max_chunk is {} elements; choose 1 to {}", elements, default_max_chunk);
  comm_check(in_flight_.empty(), "max_chunk cannot change while {} collectives are in flight",
             in_flight_.size());
  max_chunk_ = elements;
}

void Executor::wait(Execution& execution) {
  while (!execution.done()) {
    if (progress()) continue;
    const Clock::time_point since = Clock::now();
    do transport_.idle();
    while (!progress());
    execution.counts().wait_seconds += std::chrono::duration<double>(Clock::now() - since).count();
  }
}

bool Executor::try_wait(Execution& execution, std::chrono::milliseconds limit) noexcept {
  if (gave_up_) return execution.done();
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
