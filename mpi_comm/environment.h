#pragma once
// MPI from the first line of main to the last: starts it (MPI_THREAD_FUNNELED: only the thread that
// made the Environment talks to MPI), tells who and where this rank is, and finalises it. While an
// exception passes it does not finalise: the other ranks would wait there for ever; main's catch
// calls abort_all (leave.h) instead.
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace skep {

class Environment {
 public:
  /// Once per process. CommError(usage) when the launcher and MPI disagree about the ranks.
  Environment(int& argc, char**& argv);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Among the ranks of this host.
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  const std::string& host() const { return host_; }
  /// The host of each rank, counted from 0 in the order of their first ranks.
  const std::vector<int>& hosts() const { return hosts_; }
  bool several_hosts() const { return local_size_ < size_; }
  /// Processors the ranks of this host may use, all together.
  int local_processors() const { return local_processors_; }
  /// More ranks on this host than processors: loops that wait must give way.
  bool oversubscribed() const { return local_size_ > local_processors_; }

 private:
  void find_local_ranks();

  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1, local_processors_ = 1;
  std::string host_;
  std::vector<int> hosts_;
};

/// Name and version of the MPI library: "Open MPI v4.1.4".
std::string mpi_library();

/// Whether the library says that it takes addresses in a GPU's memory.
bool mpi_takes_device_memory();

/// Numbers hosts from 0 on, given for each rank the first rank of its host: {0, 1, 0, 3} gives
/// {0, 1, 0, 2}.
std::vector<int> number_hosts(std::span<const int> first_ranks);

/// Reads an environment variable; null when it is not set.
using ReadVariable = std::function<const char*(const char*)>;

/// A launcher that starts N processes which do not find each other makes N runs of one rank, all
/// writing to the same files. Returns what is wrong and the fix; empty when all is well.
std::string find_singletons(int mpi_size, const ReadVariable& read);

}  // namespace skep
