#pragma once
// Every MPI call is wrapped in MPI_CHECK: the communicators return errors instead of ending the
// process, and an error that nobody reads would be lost.

namespace skep {

/// Throws CommError with the call, the place and MPI's own words unless code is success: lost_rank,
/// or bug for a message longer than its receive.
void check_mpi(int code, const char* call, const char* file, int line);

}  // namespace skep

#define MPI_CHECK(call) ::skep::check_mpi((call), #call, __FILE__, __LINE__)
