#include "tools/common/tool.h"

#include <cstdlib>

#include "engine/core/error.h"
#include "tools/common/print.h"
#include "train/version.h"

namespace skep {
namespace {

// A launcher tells its processes who they are; mpirun's word goes before that of a Slurm job
// around it.
bool is_first_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name)) return std::atoi(rank) == 0;
  return true;
}

std::string list_commands(const std::string& tool, const std::string& purpose,
                          const std::vector<Command>& commands) {
  std::string text = fmt::format("{}\nUsage: {} COMMAND [OPTIONS]\n\nCommands:\n", purpose, tool);
  for (const Command& command : commands)
    text += fmt::format("  {:<12} {}\n", command.name, command.purpose);
  return text +
         fmt::format(
             "\nOptions:\n  -h,--help    print this text; after a COMMAND, that one's options\n"
             "  --version    print the version\n");
}

}  // namespace

int run_tool(const std::string& name, int argc, char** argv,
             const std::function<void(const Arguments&)>& body) {
  if (!is_first_rank()) return 0;
  try {
    body(Arguments(argv + 1, argv + argc));
    return 0;
  } catch (const Error& error) {
    print_note(fmt::format("{}: {}", name, error.what()));
    return error.exit_code();
  } catch (const std::exception& error) {
    print_note(fmt::format("{}: {}", name, error.what()));
    return static_cast<int>(ErrorKind::bug);
  }
}

void run_command(const std::string& tool, const std::string& purpose,
                 const std::vector<Command>& commands, const Arguments& arguments) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  if (arguments.empty()) fail(ErrorKind::usage, "name a command: {}", fmt::join(names, ", "));
  const std::string& wish = arguments.front();
  if (wish == "--help" || wish == "-h") return print(list_commands(tool, purpose, commands));
  if (wish == "--version") return print(version_line());
  for (const Command& command : commands)
    if (command.name == wish) return command.run(Arguments(arguments.begin() + 1, arguments.end()));
  fail(ErrorKind::usage, "unknown command {}; {}commands: {}", wish, suggestion(wish, names),
       fmt::join(names, ", "));
}

}  // namespace skep
