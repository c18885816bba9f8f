#pragma once
// What one rank can find out about the machine it is on. Plain values: the checks are pure
// functions of them, so that tests can show a check any machine.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mpi_comm/communicator.h"
#include "train/config.h"
#include "train/placement.h"

namespace skep::doctor {

struct Facts {
  Placement place;
  std::string mpi_library;                       ///< "Open MPI v4.1.4"
  std::map<std::string, std::string> variables;  ///< OMPI_… and SLURM_… of the environment
  int user_id = 0;
  std::vector<std::string> missing_programs;  ///< of mpirun, ssh
  int granted_processors = 0;                 ///< CPUs the process that started this rank may use
  double processor_quota = 0;                 ///< CPUs the container grants; 0: no limit
  double peak_flops = 0;  ///< a second, of this rank's threads while all ranks work

  double available_bytes = 0;      ///< of RAM, within the container's limit
  double needed_bytes = 0;         ///< at least, for weights, gradients and optimizer
  double shared_memory_bytes = 0;  ///< free in /dev/shm

  std::string run_folder, checkpoint_folder;
  std::string run_problem, checkpoint_problem;  ///< why it cannot be written; or empty
  double disk_bytes = 0;                        ///< free where checkpoints go
  double checkpoints_bytes = 0;                 ///< of all that are kept at once

  std::string product_library;
  bool bf16_products = true;                      ///< by instructions of this CPU
  std::vector<std::string> missing_instructions;  ///< built for, but this CPU has none of them
  std::vector<std::string> unused_instructions;   ///< this CPU has them, not built for
  std::int64_t gpus = 0;                          ///< that this build could use
  std::string no_gpu_reason;                      ///< why there is none
  std::vector<std::string> gpu_signs;             ///< device nodes and driver libraries found

  std::string single_copy_problem;              ///< reading a neighbour's memory failed; or empty
  std::map<std::string, std::string> networks;  ///< of interfaces that are up: eth0 -> 192.0.2.0/24

  /// The value of an environment variable, empty when it is not set.
  std::string variable(const std::string& name) const;
};

/// Collective. The facts of all ranks, on every rank. Takes about a second.
std::vector<Facts> gather_facts(const Config& config, Communicator& comm);

/// The groups of ranks that are on one host.
std::vector<HostGroup> hosts_of(const std::vector<Facts>& ranks);

// Each reads one part of the machine.
void find_memory(Facts& facts);
void find_disk(Facts& facts);
void find_instructions(Facts& facts);
void find_networks(Facts& facts);

/// Collective. Whether this rank can read the memory of the next one on its host, as MPI does for
/// large messages.
void try_single_copy(Facts& facts, Communicator& comm);

}  // namespace skep::doctor
