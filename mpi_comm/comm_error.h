#pragma once
// The error type of communication, carrying the exit code it leads to. Messages say what is wrong,
// where, and what to do. Whoever catches it at the top of main hands both to abort_all.
#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace skep {

/// What kind of failure it is; the number is the exit code of the process.
enum class CommFailure {
  bug = 1,        ///< the ranks' calls do not fit each other, or a buffer has the wrong size
  usage = 2,      ///< how the program was started or configured
  lost_rank = 6,  ///< MPI reports a failure: a rank is gone or the network broke
};

class CommError : public std::runtime_error {
 public:
  CommError(CommFailure kind, const std::string& message)
      : std::runtime_error(message), kind_(kind) {}
  CommFailure kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }

 private:
  CommFailure kind_;
};

/// Throws CommError(kind) with a formatted message.
template <class... Args>
[[noreturn]] void comm_fail(CommFailure kind, fmt::format_string<Args...> format, Args&&... args) {
  throw CommError(kind, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws CommError(bug) unless the condition holds.
template <class... Args>
void comm_check(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    comm_fail(CommFailure::bug, format, std::forward<Args>(args)...);
}

}  // namespace skep
