#include <mpi.h>

#include <deque>
#include <exception>

#include "mpi_comm/fingerprint_channel.h"
#include "mpi_comm/mpi_check.h"

namespace skep {
namespace {

constexpr int bytes = sizeof(Fingerprint);

class MpiFingerprintChannel final : public FingerprintChannel {
 public:
  MpiFingerprintChannel() : post_(std::make_unique<Post>()) {
    MPI_CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm_));
    listen();
  }

  ~MpiFingerprintChannel() override {
    if (std::uncaught_exceptions() > 0) {
      // The run is ending, but MPI may still be reading and writing here.
      [[maybe_unused]] const Post* left = post_.release();
      return;
    }
    MPI_Cancel(&post_->arrival);
    MPI_Wait(&post_->arrival, MPI_STATUS_IGNORE);
    for (Departure& departure : post_->departures) MPI_Wait(&departure.request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm_);
  }

  void send(int peer, const Fingerprint& print) override {
    auto& departures = post_->departures;
    while (!departures.empty() && complete(departures.front().request)) departures.pop_front();
    Departure& departure = departures.emplace_back(Departure{print, MPI_REQUEST_NULL});
    MPI_CHECK(MPI_Isend(&departure.print, bytes, MPI_BYTE, peer, 0, comm_, &departure.request));
  }

  bool receive(Fingerprint& print) override {
    if (!complete(post_->arrival)) return false;
    print = post_->arrived;
    listen();
    return true;
  }

 private:
  struct Departure {
    Fingerprint print;
    MPI_Request request;
  };
  // What MPI reads and writes on its own time: on the heap, at addresses that last.
  struct Post {
    Fingerprint arrived;
    MPI_Request arrival = MPI_REQUEST_NULL;
    std::deque<Departure> departures;
  };

  void listen() {
    MPI_CHECK(
        MPI_Irecv(&post_->arrived, bytes, MPI_BYTE, MPI_ANY_SOURCE, 0, comm_, &post_->arrival));
  }

  static bool complete(MPI_Request& request) {
    int done = 0;
    MPI_CHECK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    return done != 0;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::unique_ptr<Post> post_;
};

}  // namespace

std::unique_ptr<FingerprintChannel> make_mpi_fingerprint_channel() {
  return std::make_unique<MpiFingerprintChannel>();
}

}  // namespace skep
