#pragma once
// The collectives, checked on whatever communicator is given: threads or real MPI. The functions
// return what is wrong on this rank instead of stopping: a rank that left early would leave the
// others waiting.
#include <string>
#include <vector>

#include "mpi_comm/communicator.h"

namespace skep {

using Wrong = std::vector<std::string>;

/// RING-TINY: 0, 1, P-1, P and P+1 elements, every collective, type and topology; exact results.
Wrong check_tiny(Communicator& comm);
/// A million elements and three, summed over every topology.
Wrong check_large(Communicator& comm);
/// MPI-COUNT: 100 elements in chunks of 7 give the same bytes as in one piece.
Wrong check_chunks(Communicator& comm);
/// Bytes sent are those of the cost table; replicas are bit-identical.
Wrong check_traffic(Communicator& comm);
/// RANK-ORDER: all ranks see the same random clusters, whatever each has drawn before.
Wrong check_rank_order(Communicator& comm);
/// Three plans at once, of different topologies, waited for in reverse.
Wrong check_in_flight(Communicator& comm);
/// Numbers, flags and hashes.
Wrong check_scalars(Communicator& comm);

/// Collectives going on in the background, all at once, progressed and waited for in reverse.
Wrong check_background(Communicator& comm);
/// Whether the bytes of a buffer are the same on all ranks.
bool same_everywhere(Communicator& comm, const std::vector<float>& data);

/// All of the above.
Wrong check_everything(Communicator& comm);

}  // namespace skep
