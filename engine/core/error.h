#pragma once
// One error type for everything that can go wrong, carrying the exit code it leads to.
// Nothing in the library calls exit: the mains catch once, print one line and leave.
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace skep {

/// Exit codes of every binary; the kind of an Error is the code its process ends with.
enum class ErrorKind {
  bug = 1,         ///< an internal check failed
  usage = 2,       ///< command line or configuration
  data = 3,        ///< a data, tokenizer or model file
  non_finite = 4,  ///< loss or gradient norm is not a number
  storage = 5,     ///< writing a file failed
  lost_rank = 6,   ///< a rank is gone or hangs
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
};

/// The same error with the place in front, unless its message begins with it already.
inline Error at_place(std::string_view place, const Error& error) {
  if (std::string_view(error.what()).starts_with(place)) return error;
  return Error(error.kind(), fmt::format("{}: {}", place, error.what()));
}

/// Throws Error(kind) with a formatted message: what is wrong, where, what to do.
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws Error(bug) unless the condition holds: `check(a == b, "matmul: sizes {} and {} differ",
/// a, b)`.
template <class... Args>
void check(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    fail(ErrorKind::bug, format, std::forward<Args>(args)...);
}

}  // namespace skep
