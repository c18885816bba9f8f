#include "mpi_comm/thread_communicator.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "mpi_comm/comm_error.h"
#include "mpi_comm/fingerprint_channel.h"

namespace skep {
namespace {

// Thrown on the ranks that did nothing wrong.
class Closed : public CommError {
 public:
  Closed() : CommError(CommFailure::lost_rank, "another rank has failed") {}
};

// One side of a message that waits for the other. The data stays in the caller's buffer.
struct Posted {
  int source, tag;
  WireSpan data;
  std::atomic<bool>* complete;
};

// Where sends and receives meet: one mailbox per receiver, first in first out per source and tag.
class Hub {
 public:
  explicit Hub(int ranks) : mailboxes_(static_cast<std::size_t>(ranks)) {}
  int size() const { return static_cast<int>(mailboxes_.size()); }

  void post_send(int receiver, const Posted& send) {
    Mailbox& box = mailboxes_[static_cast<std::size_t>(receiver)];
    meet(box, box.receives, send, box.sends,
         [&](const Posted& waiting) { deliver(send, waiting, receiver); });
  }
  void post_receive(int receiver, const Posted& receive) {
    Mailbox& box = mailboxes_[static_cast<std::size_t>(receiver)];
    meet(box, box.sends, receive, box.receives,
         [&](const Posted& waiting) { deliver(waiting, receive, receiver); });
  }

  void post(int receiver, const Fingerprint& print) {
    Mailbox& box = mailboxes_[static_cast<std::size_t>(receiver)];
    const std::lock_guard lock(box.mutex);
    box.fingerprints.push_back(print);
  }
  bool take(int receiver, Fingerprint& print) {
    Mailbox& box = mailboxes_[static_cast<std::size_t>(receiver)];
    const std::lock_guard lock(box.mutex);
    if (box.fingerprints.empty()) return false;
    print = box.fingerprints.front();
    box.fingerprints.pop_front();
    return true;
  }

  /// After this nobody touches a posted buffer any more: its owner may be gone.
  void close() noexcept {
    closed_ = true;
    for (Mailbox& box : mailboxes_) {
      const std::lock_guard lock(box.mutex);
      box.sends.clear();
      box.receives.clear();
    }
  }
  void check_open() const {
    if (closed_) throw Closed();
  }

 private:
  struct Mailbox {
    std::mutex mutex;
    std::list<Posted> sends, receives;
    std::deque<Fingerprint> fingerprints;
  };

  template <class Deliver>
  void meet(Mailbox& box, std::list<Posted>& waiting, const Posted& post, std::list<Posted>& queue,
            Deliver deliver) {
    const std::lock_guard lock(box.mutex);
    check_open();
    const auto match = std::find_if(waiting.begin(), waiting.end(), [&](const Posted& other) {
      return other.source == post.source && other.tag == post.tag;
    });
    if (match == waiting.end()) {
      queue.push_back(post);
      return;
    }
    deliver(*match);
    waiting.erase(match);
  }

  static void deliver(const Posted& send, const Posted& receive, int receiver) {
    comm_check(send.data.type() == receive.data.type() && send.data.count() == receive.data.count(),
               "rank {} sends {} {} elements where rank {} expects {} {}: the ranks disagree about "
               "a collective",
               send.source, send.data.count(), name_of(send.data.type()), receiver,
               receive.data.count(), name_of(receive.data.type()));
    std::copy_n(send.data.data(), send.data.size_bytes(), receive.data.data());
    send.complete->store(true, std::memory_order_release);
    receive.complete->store(true, std::memory_order_release);
  }

  std::vector<Mailbox> mailboxes_;
  std::atomic<bool> closed_ = false;
};

class ThreadTransport : public Transport {
 public:
  ThreadTransport(Hub& hub, int rank) : hub_(hub), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return hub_.size(); }
  int tag_count() const override { return 32767; }

  Ticket send(int peer, int tag, WireView data) override {
    const Ticket ticket = take_slot();
    // Read only: the receiving side copies out of it.
    const WireSpan source{const_cast<std::byte*>(data.data()), data.count(), data.type()};
    hub_.post_send(peer, {rank_, tag, source, &slot(ticket)});
    return ticket;
  }
  Ticket receive(int peer, int tag, WireSpan data) override {
    const Ticket ticket = take_slot();
    hub_.post_receive(rank_, {peer, tag, data, &slot(ticket)});
    return ticket;
  }
  bool test(Ticket ticket) override {
    if (!slot(ticket).load(std::memory_order_acquire)) return false;
    spare_.push_back(ticket);
    return true;
  }
  void idle() override {
    hub_.check_open();
    sched_yield();
  }
  void abandon() noexcept override { hub_.close(); }

 private:
  std::atomic<bool>& slot(Ticket ticket) { return complete_[static_cast<std::size_t>(ticket)]; }
  Ticket take_slot() {
    if (spare_.empty()) {
      complete_.emplace_back(false);
      return static_cast<Ticket>(complete_.size() - 1);
    }
    const Ticket ticket = spare_.back();
    spare_.pop_back();
    slot(ticket) = false;
    return ticket;
  }

  Hub& hub_;
  int rank_;
  std::deque<std::atomic<bool>> complete_;  // addresses last: other threads set these
  std::vector<Ticket> spare_;
};

class ThreadFingerprintChannel : public FingerprintChannel {
 public:
  ThreadFingerprintChannel(Hub& hub, int rank) : hub_(hub), rank_(rank) {}
  void send(int peer, const Fingerprint& print) override { hub_.post(peer, print); }
  bool receive(Fingerprint& print) override {
    hub_.check_open();
    return hub_.take(rank_, print);
  }

 private:
  Hub& hub_;
  int rank_;
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(Hub& hub, int rank)
      : Communicator(std::make_unique<ThreadTransport>(hub, rank),
                     std::make_unique<ThreadFingerprintChannel>(hub, rank)) {}
};

}  // namespace

void run_ranks(int ranks, const std::function<void(Communicator&)>& body) {
  Hub hub(ranks);
  std::vector<std::exception_ptr> causes(static_cast<std::size_t>(ranks));
  const auto run = [&](int rank) {
    try {
      ThreadCommunicator communicator(hub, rank);
      body(communicator);
    } catch (const Closed&) {
      hub.close();
    } catch (...) {
      hub.close();
      causes[static_cast<std::size_t>(rank)] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& cause : causes)
    if (cause) std::rethrow_exception(cause);
}

}  // namespace skep
