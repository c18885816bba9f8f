#pragma once
// Short texts from every rank to every rank.
#include <string>
#include <vector>

#include "mpi_comm/communicator.h"

namespace skep {

/// Collective. The texts of all ranks, in their order; they may differ in length.
std::vector<std::string> gather_texts(Communicator& comm, const std::string& mine);

}  // namespace skep
