#pragma once
// What the mains of the tools that need no MPI share: they run in one process, whatever starts
// them, and every error ends as one line and the exit code of its kind.
#include <functional>
#include <string>
#include <vector>

#include "tools/common/command_line.h"

namespace skep {

/// Calls `body` with the arguments and returns the exit code. Started as several ranks, only the
/// first works; the others leave with 0 at once.
int run_tool(const std::string& name, int argc, char** argv,
             const std::function<void(const Arguments&)>& body);

/// One of several commands of a tool: `tokenize decode …`.
struct Command {
  std::string name;
  std::string purpose;
  std::function<void(const Arguments&)> run;
};

/// Runs the command that the first argument names; --help lists them. Error(usage) for no or an
/// unknown name.
void run_command(const std::string& tool, const std::string& purpose,
                 const std::vector<Command>& commands, const Arguments& arguments);

}  // namespace skep
