#pragma once
// Collectives among all ranks of a run. A call goes: topology → plan → executor → transport; which
// transport (MPI, or threads in one process) is the derived class's only business. Where the
// transport has collectives of its own, a call may be handed to it instead (Carrier).
// Collective calls: every rank makes the same calls in the same order with fitting arguments, also
// where it is alone in its group.
// Errors: CommError; CommFailure::bug for arguments that do not fit, lost_rank when the wire fails.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mpi_comm/calibration.h"
#include "mpi_comm/combine.h"
#include "mpi_comm/executor.h"
#include "mpi_comm/topology.h"
#include "mpi_comm/traffic.h"
#include "mpi_comm/transport.h"
#include "mpi_comm/wire.h"

namespace skep {

/// The topology used when a call names none: the full mesh.
const Topology& default_topology();

/// Which wires a call uses: `comm.all_reduce(grads, Combine::sum, {ring, seed, step})`.
/// The topology must outlive the call; only its groups ask for seed and step.
struct Route {
  Route(const Topology& topology = default_topology(), std::uint64_t seed = 0, long step = 0)
      : topology(topology), seed(seed), step(step) {}
  const Topology& topology;
  std::uint64_t seed;
  long step;
};

/// Who carries out a collective among everybody: plans over messages, or the MPI library's own
/// collective, or for each size whichever the calibration found faster. Parts of the ranks always
/// use plans. The library's all_reduce leaves the replicas bit-identical too: its algorithms either
/// complete a sum at one rank, or add the same two halves on both sides, and a + b is b + a.
/// `automatic` leaves what runs in the background to plans: they move between a caller's own
/// operations, and the library's background collectives are not its fast ones.
/// Calls of the library are compared among the ranks with Check::full only.
enum class Carrier { plans, mpi, automatic };

class Communicator {
 public:
  virtual ~Communicator() = default;
  int rank() const { return transport_->rank(); }
  int size() const { return transport_->size(); }
  Place place(std::uint64_t seed = 0, long step = 0) const { return {rank(), size(), seed, step}; }

  /// Non-blocking: carries out this rank's plan on `data` while the caller goes on.
  Pending start(Plan plan, WireSpan data, Combine how = Combine::sum);
  /// The same for a plan that reads one buffer and fills another (see Topology::all_to_all).
  Pending start(Plan plan, WireView send, WireSpan receive);
  /// The collectives below, while the caller goes on.
  Pending start_all_reduce(WireSpan data, Combine how = Combine::sum, const Route& route = {});
  Pending start_reduce_scatter(WireSpan data, Combine how = Combine::sum, const Route& route = {});
  Pending start_all_gatherv(WireView mine, std::span<const std::size_t> counts, WireSpan all,
                            const Route& route = {});
  Pending start_broadcast(WireSpan data, int root, const Route& route = {});
  /// To be called now and then while plans are in flight; true when anything moved.
  bool progress() { return executor_.progress(); }

  /// Afterwards `data` holds the combination over the group's ranks, bit-identical on each.
  void all_reduce(WireSpan data, Combine how = Combine::sum, const Route& route = {});
  /// Afterwards this rank's part (see part()) of `data` is combined, the rest is undefined.
  void reduce_scatter(WireSpan data, Combine how = Combine::sum, const Route& route = {});
  /// `all` has room for `mine` of every rank of the group, in the group's order.
  void all_gather(WireView mine, WireSpan all, const Route& route = {});
  /// As all_gather; position i of the group contributes counts[i] elements.
  void all_gatherv(WireView mine, std::span<const std::size_t> counts, WireSpan all,
                   const Route& route = {});
  /// `data` of rank `root` for the whole group.
  void broadcast(WireSpan data, int root, const Route& route = {});
  /// Position i of the group gets the i-th of the equal blocks of `send`; `receive` gets one block
  /// of every position, in the group's order. The buffers do not overlap.
  void all_to_all(WireView send, WireSpan receive, const Route& route = {});
  /// As all_to_all; send_counts[i] elements go to position i, receive_counts[i] come from it. What
  /// one rank sends another expects.
  void all_to_allv(WireView send, std::span<const std::size_t> send_counts, WireSpan receive,
                   std::span<const std::size_t> receive_counts, const Route& route = {});
  /// Returns on no rank before it has been called on all.
  void barrier();

  /// One number combined over all ranks.
  double all_reduce(double value, Combine how);
  std::int64_t all_reduce(std::int64_t value, Combine how);
  /// Ranks whose value is not that of the majority (of equal camps, the one of the lowest rank
  /// counts as the majority). Empty: all ranks hold the same. The same answer everywhere.
  std::vector<int> all_equal(std::uint64_t hash);

  /// Cumulative counters of this rank.
  const Traffic& traffic() const { return traffic_; }
  /// What this rank communicates from now on is counted under this name.
  void set_phase(std::string_view phase) { traffic_.set_phase(phase); }

  /// On all ranks alike; `automatic` goes by the calibration. CommError(usage) for `mpi` where the
  /// ranks are not connected by MPI.
  void set_carrier(Carrier carrier, const Calibration& calibration = {});
  /// What set_carrier was given last.
  const Calibration& calibration() const { return calibration_; }
  bool has_library() const { return transport_->has_collectives(); }
  /// Elements in one call of the library at most, below 2^31.
  void set_library_chunk(std::size_t elements) { library_chunk_ = elements; }
  /// Elements in one message at most, for all ranks alike; see Executor::default_max_chunk.
  void set_max_chunk(std::size_t elements) { executor_.set_max_chunk(elements); }
  /// Bytes of a call awaited at a time; see Executor::default_window_bytes.
  void set_window(std::size_t bytes) { executor_.set_window(bytes); }
  /// How calls are compared among the ranks (agreement.h), for all ranks alike.
  void set_check(Check check) { executor_.set_check(check); }
  /// What this rank is about to do, for whoever asks why the others wait: `doing("optimizer")`,
  /// `doing("backward of ", path)`.
  void doing(std::string_view what, std::string_view where = {}) {
    executor_.recorder().doing(what, where);
  }
  const FlightRecorder& recorder() { return executor_.recorder(); }

 protected:
  Communicator(std::unique_ptr<Transport> transport, std::unique_ptr<FingerprintChannel> channel);

 private:
  Place place(const Route& route) const { return place(route.seed, route.step); }
  /// Whether the library carries a collective of so many bytes; the same answer on all ranks.
  bool hands_over(const Route& route, std::size_t bytes) const;
  /// The call, or nothing when a plan is to carry it.
  std::optional<LibraryCall> handed_over(Collective what, WireSpan data, Combine how,
                                         const Route& route) const;
  std::optional<LibraryCall> handed_over_gather(std::span<const std::size_t> counts, WireSpan all,
                                                const Route& route) const;
  std::optional<LibraryCall> in_background(std::optional<LibraryCall> call) const;
  void place_own_block(WireView mine, std::span<const std::size_t> counts, WireSpan all,
                       const Route& route) const;

  std::unique_ptr<Transport> transport_;
  Traffic traffic_;
  Executor executor_;
  Carrier carrier_ = Carrier::plans;
  Calibration calibration_;
  std::array<bool, 65> library_wins_{};  // by the bit width of the bytes
  std::size_t library_chunk_ = Executor::largest_chunk;
};

}  // namespace skep
