// MPI moves large messages between ranks of one host by reading the sender's memory directly.
// Containers often forbid that, and MPI learns of it only in the middle of a run.
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "train/doctor/facts.h"
#include "train/gather.h"

namespace skep::doctor {
namespace {

struct Neighbour {
  std::string host;
  int process = 0;
  std::uintptr_t address = 0;
};

std::string read_from(const Neighbour& neighbour, std::uint64_t expected) {
  std::uint64_t copy = 0;
  const iovec here{&copy, sizeof copy};
  const iovec there{reinterpret_cast<void*>(neighbour.address), sizeof copy};
  if (process_vm_readv(neighbour.process, &here, 1, &there, 1, 0) < 0) return std::strerror(errno);
  return copy == expected ? "" : "another process answers to its number";
}

}  // namespace

void try_single_copy(Facts& facts, Communicator& comm) {
  const auto value_of = [](std::size_t rank) { return 0x5ce9'0000'0000'0000ull + rank; };
  const auto own = static_cast<std::size_t>(comm.rank());
  const volatile std::uint64_t mine = value_of(own);  // read by another process
  const std::string host = find_placement(0).host;
  const std::vector<std::string> texts = gather_texts(
      comm, fmt::format("{} {} {}", host, getpid(), reinterpret_cast<std::uintptr_t>(&mine)));
  for (std::size_t step = 1; step < texts.size(); ++step) {
    const std::size_t rank = (own + step) % texts.size();
    Neighbour next;
    std::istringstream(texts[rank]) >> next.host >> next.process >> next.address;
    if (next.host != host) continue;
    facts.single_copy_problem = read_from(next, value_of(rank));
    break;
  }
  comm.barrier();  // nobody goes on while its memory is being read
}

}  // namespace skep::doctor
