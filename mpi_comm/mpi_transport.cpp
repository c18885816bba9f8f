#include "mpi_comm/mpi_transport.h"

#include <mpi.h>
#include <sched.h>

#include <exception>
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
    const Ticket ticket = take_slot({MPI_REQUEST_NULL, -1, data.type(), peer});
    MPI_CHECK(MPI_Isend(data.data(), static_cast<int>(data.count()), mpi_type(data.type()), peer,
                        tag, comm_, &slot(ticket).request));
    return ticket;
  }

  Ticket receive(int peer, int tag, WireSpan data) override {
    const int count = static_cast<int>(data.count());
    const Ticket ticket = take_slot({MPI_REQUEST_NULL, count, data.type(), peer});
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
    spare_.push_back(ticket);
    return true;
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
  };

  Slot& slot(Ticket ticket) { return slots_[static_cast<std::size_t>(ticket)]; }

  Ticket take_slot(const Slot& message) {
    if (spare_.empty()) {
      slots_.push_back(message);
      spare_.reserve(slots_.size());
      return static_cast<Ticket>(slots_.size() - 1);
    }
    const Ticket ticket = spare_.back();
    spare_.pop_back();
    slot(ticket) = message;
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

  Waiting waiting_;
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
