#include "fault_cases.h"

#include <array>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <vector>

#include "mpi_comm/topologies/ring.h"
#include "mpi_comm/topologies/tree.h"

namespace skep {
namespace {

using namespace std::chrono_literals;

// Rings of two: 0 with 1, 2 with 3 … at even steps; 1 with 2, 3 with 4 … at odd ones. The last may
// be alone.
class Pairs final : public Ring {
 public:
  std::vector<std::vector<int>> groups(const Place& at) const override {
    std::vector<std::vector<int>> all;
    int rank = 0;
    if (at.step % 2 == 1) all.push_back({rank++});
    for (; rank < at.size; rank += 2)
      all.push_back(rank + 1 < at.size ? std::vector<int>{rank, rank + 1} : std::vector<int>{rank});
    return all;
  }
};

void all_well(Communicator& comm) {
  static const Ring ring;
  static const Pairs pairs;
  std::vector<float> data(100);
  comm.all_reduce(data, Combine::sum, {ring, 0, 7});
  comm.broadcast(data, comm.size() - 1);
  comm.all_reduce(data, Combine::sum, {pairs, 0, 0});
  // Two in flight, of different groups.
  std::vector<float> more(100);
  Pending first = comm.start(pairs.all_reduce(comm.place(0, 1), 100), data);
  Pending second = comm.start(ring.all_reduce(comm.place(0, 7), 100), more);
  second.wait();
  first.wait();
}

void do_otherwise(Communicator& comm, const std::string& how) {
  static const Ring ring;
  static const Tree tree;
  const Route route(ring, 0, 7);
  std::vector<float> data(100);
  if (how == "count") {
    std::vector<float> longer(107);
    comm.all_reduce(longer, Combine::sum, route);
  } else if (how == "type") {  // of as many bytes
    std::vector<double> doubles(50);
    comm.all_reduce(doubles, Combine::sum, route);
  } else if (how == "operation") {
    comm.all_reduce(data, Combine::max, route);
  } else if (how == "order") {
    comm.broadcast(data, 0, route);
  } else if (how == "topology") {
    comm.all_reduce(data, Combine::sum, {tree, 0, 7});
  } else if (how == "step") {
    comm.all_reduce(data, Combine::sum, {ring, 0, 8});
  } else if (how == "sleep") {
    comm.doing("counting ", "bees");
    std::this_thread::sleep_for(60s);
  } else if (how == "throw") {
    throw std::runtime_error("out of honey");
  } else if (how == "kill") {
    std::raise(SIGKILL);
  }
}

}  // namespace

void go_wrong(Communicator& comm, const std::string& how) {
  static const Ring ring;
  static const Pairs pairs;
  comm.doing("the good part");
  all_well(comm);
  std::vector<float> data(100);
  if (how == "root") {
    comm.broadcast(data, comm.rank() == 1 ? 1 : 0);
  } else if (how == "group") {  // rank 1 is a step ahead and sees itself with rank 2, or alone
    comm.all_reduce(data, Combine::sum, {pairs, 0, comm.rank() == 1 ? 1 : 0});
  } else if (comm.rank() == 1 && how != "well") {
    do_otherwise(comm, how);
  } else {
    comm.all_reduce(data, Combine::sum, {ring, 0, 7});
  }
  for (int i = 0; i < 3; ++i) comm.barrier();
}

}  // namespace skep
