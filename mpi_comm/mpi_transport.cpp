#include "mpi_comm/mpi_transport.h"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "mpi_comm/comm_error.h"
#include "mpi_comm/leave.h"
#include "mpi_comm/mpi_check.h"

namespace skep {
namespace {

MPI_Datatype mpi_type(WireType type) {
  switch (type) {
    case WireType::f32:
      return MPI_FLOAT;
    case WireType::f64:
      return MPI_DOUBLE;
    case WireType::i32:
      return MPI_INT32_T;
    case WireType::i64:
      return MPI_INT64_T;
    case WireType::u8:
      return MPI_UINT8_T;
  }
  return MPI_DATATYPE_NULL;
}

template <Combine how>
void combine_keeping_nan(void* from, void* into, int* count, MPI_Datatype* type) {
  const WireType element = *type == MPI_FLOAT ? WireType::f32 : WireType::f64;
  const auto elements = static_cast<std::size_t>(*count);
  combine(how, WireSpan{static_cast<std::byte*>(into), elements, element},
          WireView{static_cast<const std::byte*>(from), elements, element});
}

// The library's own max and min may lose a NaN, and with it a flag that was raised.
class Operators {
 public:
  Operators() {
    MPI_CHECK(MPI_Op_create(combine_keeping_nan<Combine::max>, 1, &max_));
    MPI_CHECK(MPI_Op_create(combine_keeping_nan<Combine::min>, 1, &min_));
  }
  ~Operators() {
    MPI_Op_free(&max_);
    MPI_Op_free(&min_);
  }
  MPI_Op of(Combine how, WireType type) const {
    const bool real = type == WireType::f32 || type == WireType::f64;
    if (how == Combine::sum) return MPI_SUM;
    if (how == Combine::max) return real ? max_ : MPI_MAX;
    return real ? min_ : MPI_MIN;
  }

 private:
  MPI_Op max_ = MPI_OP_NULL, min_ = MPI_OP_NULL;
};

// What a call of the library must find in place until it is complete.
struct CallMemory {
  std::vector<int> counts, begins;
  std::vector<std::byte> result;
  std::byte* result_place = nullptr;

  void finish() const { std::copy(result.begin(), result.end(), result_place); }
};

class MpiTransport : public Transport {
 public:
  explicit MpiTransport(Waiting waiting) : waiting_(waiting) {
    MPI_CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm_));
    MPI_CHECK(MPI_Comm_rank(comm_, &rank_));
    MPI_CHECK(MPI_Comm_size(comm_, &size_));
    int* highest_tag = nullptr;
    int found = 0;
    MPI_CHECK(MPI_Comm_get_attr(comm_, MPI_TAG_UB, &highest_tag, &found));
    // 32767 is what the standard promises; one less than the highest, so that the count fits an int
    tag_count_ = found != 0 ? *highest_tag : 32767;
  }

  ~MpiTransport() override {
    // Freeing needs the other ranks; while an exception passes they are elsewhere.
    if (std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int tag_count() const override { return tag_count_; }

  Ticket send(int peer, int tag, WireView data) override {
    const Ticket ticket = take_slot({MPI_REQUEST_NULL, -1, data.type(), peer, nullptr});
    MPI_CHECK(MPI_Isend(data.data(), static_cast<int>(data.count()), mpi_type(data.type()), peer,
                        tag, comm_, &slot(ticket).request));
    return ticket;
  }

  Ticket receive(int peer, int tag, WireSpan data) override {
    const int count = static_cast<int>(data.count());
    const Ticket ticket = take_slot({MPI_REQUEST_NULL, count, data.type(), peer, nullptr});
    MPI_CHECK(MPI_Irecv(data.data(), count, mpi_type(data.type()), peer, tag, comm_,
                        &slot(ticket).request));
    return ticket;
  }

  bool test(Ticket ticket) override {
    Slot& message = slot(ticket);
    int complete = 0;
    MPI_Status status;
    MPI_CHECK(MPI_Test(&message.request, &complete, &status));
    if (complete == 0) return false;
    if (message.expected >= 0) check_received(message, status);
    if (message.memory) std::exchange(message.memory, nullptr)->finish();
    spare_.push_back(ticket);
    return true;
  }

  bool has_collectives() const override { return true; }

  void call(const LibraryCall& call) override {
    CallMemory memory;
    issue(call, memory, [] { return nullptr; });
    memory.finish();
  }

  std::vector<Ticket> begin_call(const LibraryCall& call) override {
    auto memory = std::make_unique<CallMemory>();
    std::vector<Ticket> tickets;
    issue(call, *memory, [&]() -> MPI_Request* {
      tickets.push_back(take_slot({MPI_REQUEST_NULL, -1, call.data.type(), rank_, nullptr}));
      return &slot(tickets.back()).request;
    });
    if (!tickets.empty()) slot(tickets.back()).memory = std::move(memory);
    return tickets;
  }

  void idle() override {
    if (waiting_ == Waiting::yield) sched_yield();
  }

  void abandon() noexcept override { messages_abandoned(); }

 private:
  struct Slot {
    MPI_Request request;
    int expected;  // elements; -1 for a send
    WireType type;
    int peer;
    std::unique_ptr<CallMemory> memory;  // of a collective
  };

  Slot& slot(Ticket ticket) { return slots_[static_cast<std::size_t>(ticket)]; }

  Ticket take_slot(Slot message) {
    if (spare_.empty()) {
      slots_.push_back(std::move(message));
      spare_.reserve(slots_.size());
      return static_cast<Ticket>(slots_.size() - 1);
    }
    const Ticket ticket = spare_.back();
    spare_.pop_back();
    slot(ticket) = std::move(message);
    return ticket;
  }

  // A message too long is an error of MPI; one too short is none, and would pass unseen.
  static void check_received(const Slot& message, const MPI_Status& status) {
    int count = 0;
    MPI_CHECK(MPI_Get_count(&status, mpi_type(message.type), &count));
    comm_check(count == message.expected,
               "rank {} sent {} {} elements where {} were expected: the ranks disagree about a "
               "collective or its size",
               message.peer, count, name_of(message.type), message.expected);
  }

  // `next` gives a place for the request of a call, or null to wait for the call at once.
  template <class Next>
  void issue(const LibraryCall& call, CallMemory& memory, Next next) {
    const bool in_one_call = call.data.count() <= call.max_count;
    switch (call.what) {
      case Collective::all_reduce:
        return in_chunks(call, {0, call.data.count()},
                         [&](WireSpan data) { all_reduce(call, data, next()); });
      case Collective::broadcast:
        return in_chunks(call, {0, call.data.count()},
                         [&](WireSpan data) { broadcast(data, call.root, next()); });
      case Collective::reduce_scatter:
        if (in_one_call) return reduce_scatter(call, memory, next());
        for (int owner = 0; owner < size_; ++owner)
          in_chunks(call, call.blocks[static_cast<std::size_t>(owner)],
                    [&](WireSpan data) { reduce(call, data, owner, next()); });
        return;
      case Collective::all_gather:
        if (in_one_call) return all_gather(call, memory, next());
        for (int owner = 0; owner < size_; ++owner)
          in_chunks(call, call.blocks[static_cast<std::size_t>(owner)],
                    [&](WireSpan data) { broadcast(data, owner, next()); });
        return;
    }
  }

  template <class Visit>
  static void in_chunks(const LibraryCall& call, Range range, Visit visit) {
    for (std::size_t begin = range.begin; begin < range.end; begin += call.max_count)
      visit(call.data.part(begin, std::min(call.max_count, range.end - begin)));
  }

  void all_reduce(const LibraryCall& call, WireSpan data, MPI_Request* request) {
    const int count = static_cast<int>(data.count());
    const MPI_Datatype type = mpi_type(data.type());
    const MPI_Op op = operators_.of(call.how, data.type());
    if (request == nullptr)
      MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, data.data(), count, type, op, comm_));
    else
      MPI_CHECK(MPI_Iallreduce(MPI_IN_PLACE, data.data(), count, type, op, comm_, request));
  }

  void reduce(const LibraryCall& call, WireSpan data, int owner, MPI_Request* request) {
    const int count = static_cast<int>(data.count());
    const MPI_Datatype type = mpi_type(data.type());
    const MPI_Op op = operators_.of(call.how, data.type());
    const void* from = rank_ == owner ? MPI_IN_PLACE : data.data();
    if (request == nullptr)
      MPI_CHECK(MPI_Reduce(from, data.data(), count, type, op, owner, comm_));
    else
      MPI_CHECK(MPI_Ireduce(from, data.data(), count, type, op, owner, comm_, request));
  }

  void broadcast(WireSpan data, int root, MPI_Request* request) {
    const int count = static_cast<int>(data.count());
    const MPI_Datatype type = mpi_type(data.type());
    if (request == nullptr)
      MPI_CHECK(MPI_Bcast(data.data(), count, type, root, comm_));
    else
      MPI_CHECK(MPI_Ibcast(data.data(), count, type, root, comm_, request));
  }

  void reduce_scatter(const LibraryCall& call, CallMemory& memory, MPI_Request* request) {
    const WireSpan& data = call.data;
    const Range own = call.blocks[static_cast<std::size_t>(rank_)];
    for (const Range& block : call.blocks) memory.counts.push_back(static_cast<int>(block.size()));
    memory.result.resize(own.size() * size_of(data.type()));
    memory.result_place = data.part(own.begin, own.size()).data();
    const MPI_Datatype type = mpi_type(data.type());
    const MPI_Op op = operators_.of(call.how, data.type());
    if (request == nullptr)
      MPI_CHECK(MPI_Reduce_scatter(data.data(), memory.result.data(), memory.counts.data(), type,
                                   op, comm_));
    else
      MPI_CHECK(MPI_Ireduce_scatter(data.data(), memory.result.data(), memory.counts.data(), type,
                                    op, comm_, request));
  }

  void all_gather(const LibraryCall& call, CallMemory& memory, MPI_Request* request) {
    for (const Range& block : call.blocks) {
      memory.counts.push_back(static_cast<int>(block.size()));
      memory.begins.push_back(static_cast<int>(block.begin));
    }
    const MPI_Datatype type = mpi_type(call.data.type());
    if (request == nullptr)
      MPI_CHECK(MPI_Allgatherv(MPI_IN_PLACE, 0, type, call.data.data(), memory.counts.data(),
                               memory.begins.data(), type, comm_));
    else
      MPI_CHECK(MPI_Iallgatherv(MPI_IN_PLACE, 0, type, call.data.data(), memory.counts.data(),
                                memory.begins.data(), type, comm_, request));
  }

  Waiting waiting_;
  Operators operators_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, tag_count_ = 0;
  std::vector<Slot> slots_;  // tickets are indices; MPI keeps no pointer to a request
  std::vector<Ticket> spare_;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(Waiting waiting) {
  return std::make_unique<MpiTransport>(waiting);
}

}  // namespace skep
