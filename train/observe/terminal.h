#pragma once
// Whether a person watches standard output, and how wide their window is. mpirun gives its ranks a
// terminal of its own whatever their output ends at, so it is the launcher's output that counts.
#include <memory>
#include <string_view>

namespace skep {

/// An open terminal.
class Terminal {
 public:
  explicit Terminal(int descriptor) : descriptor_(descriptor) {}
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Of the window as it is now; 80 when the terminal does not know.
  int columns() const;

 private:
  int descriptor_;
};

/// The terminal that standard output ends at; null for files and pipes (those of srun too), for one
/// that cannot move its cursor (TERM=dumb), on a host other than the launcher's, and where mpirun
/// writes a tag before each piece of output.
std::unique_ptr<Terminal> find_terminal();

/// Programs between whose output and their ranks' stands a terminal that nobody sees.
bool hides_terminal(std::string_view program_name);

}  // namespace skep
