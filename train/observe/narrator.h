#pragma once
// Tells the flight recorder which module is computing, for the ranks that wait for this one.
#include <memory>

#include "model/module.h"
#include "mpi_comm/communicator.h"

namespace skep {

/// A probe for the whole model; the communicator must outlive it.
std::shared_ptr<const Probe> make_narrator(Communicator& comm);

}  // namespace skep
