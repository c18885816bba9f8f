#include "mpi_comm/mpi_check.h"

#include <mpi.h>

#include <string_view>

#include "mpi_comm/comm_error.h"

namespace skep {

void check_mpi(int code, const char* call, const char* file, int line) {
  if (code == MPI_SUCCESS) [[likely]]
    return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  const std::string_view words(text, static_cast<std::size_t>(length));
  const std::string_view name = std::string_view(call).substr(0, std::string_view(call).find('('));
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  if (error_class == MPI_ERR_TRUNCATE)
    comm_fail(CommFailure::bug,
              "{} at {}:{}: a message is longer than expected: the ranks disagree about a "
              "collective or its size",
              name, file, line);
  comm_fail(CommFailure::lost_rank, "{} failed at {}:{}: {}", name, file, line, words);
}

}  // namespace skep
