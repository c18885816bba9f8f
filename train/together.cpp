#include "train/together.h"

#include <new>

#include "engine/core/error.h"
#include "mpi_comm/comm_error.h"
#include "mpi_comm/leave.h"

namespace skep {
namespace {

struct Failure {
  int code = 0;
  std::string message;
};

// Called from a catch.
Failure current_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return {error.exit_code(), error.what()};
  } catch (const CommError& error) {
    return {error.exit_code(), error.what()};
  } catch (const std::bad_alloc&) {
    return {static_cast<int>(ErrorKind::usage),
            "out of memory: a smaller model, batch.micro_batch or data file needs less"};
  } catch (const std::exception& error) {
    return {static_cast<int>(ErrorKind::bug), error.what()};
  }
}

}  // namespace

void together(const std::function<void()>& stage) {
  Failure failure;
  try {
    stage();
  } catch (const std::exception&) {
    failure = current_failure();
  }
  agree(failure.code, failure.message);
}

void leave_with_current_exception() {
  const Failure failure = current_failure();
  abort_all(failure.code, failure.message);
}

}  // namespace skep
