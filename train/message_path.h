#pragma once
// Which way gradients take from a GPU to the other ranks: through the host's memory; straight out
// of the GPU's, where the MPI library can (device.cuda_aware_mpi); or from GPU to GPU
// (comm.transport nccl). A library is asked and then tried before it is trusted: an address that it
// cannot read ends the process.
#include <memory>
#include <string>

#include "engine/backends/device_group.h"
#include "mpi_comm/communicator.h"
#include "train/config.h"

namespace skep {

struct MessagePath {
  enum class Way { through_host, by_mpi, by_nccl };
  Way way = Way::through_host;
  std::string reason;                  ///< why not another
  std::shared_ptr<DeviceGroup> group;  ///< of NCCL
};

/// The same way on every rank. Collective, after prepare_wires; Error(usage) when the settings ask
/// for one that cannot be had.
MessagePath choose_message_path(const Config& config, Communicator& comm, Device device);

}  // namespace skep
