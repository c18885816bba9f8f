// The completion of train as bash uses it: sourced, then called for a line that ends at the cursor.
#include "process.h"

using namespace skep;

namespace {

/// What bash offers for the last word of a line: one candidate a line.
std::string offered(const std::string& line, const std::string& setup = "true") {
  const Finished done = run_shell("bash", R"(
source <(train --print-completion)
)" + setup + R"(
COMP_WORDS=()" + line + R"()
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
$(complete -p train | sed 's/.*-F \([^ ]*\).*/\1/')
printf '%s\n' "${COMPREPLY[@]}"
)");
  CHECK(done.err.empty());
  CHECK(done.exit_code == 0);
  return done.out;
}

}  // namespace

TEST_CASE("completion: keys, names, files, and nothing for numbers") {
  CHECK(offered("train --optim.b") == "--optim.beta1\n--optim.beta2\n");
  CHECK(offered("train --print-") == "--print-config\n--print-completion\n");
  CHECK(offered("train --optim.lr 1 --comm.topo") == "--comm.topology\n");
  CHECK(offered("train --precision.compute ''") == "fp32\nbf16\nfp16\n");
  CHECK(offered("train --optim.kind s") == "sgd\n");
  CHECK(offered("train --model.bias t") == "true\n");
  CHECK(offered("train --optim.lr ''") == "\n");
  const TemporaryFolder folder;
  folder.file("my notes.txt", "x");
  for (const char* option : {"--config", "--data.train", "--data.tokenizer"})
    CHECK(offered(fmt::format("train {} my", option), "cd '" + folder.path() + "'") ==
          "my notes.txt\n");
  CHECK(offered("train --data.tokenizer c", "cd '" + folder.path() + "'") == "char\n");
}

TEST_CASE("every program tells its version and how it is used") {
  for (const char* program : {"train", "generate", "evaluate", "tokenize", "inspect", "bench"}) {
    INFO(program);
    const Finished version = run_shell(std::string(program) + " --version");
    CHECK(version.exit_code == 0);
    CHECK(version.out == "skep " PROJECT_VERSION "\n");
    const Finished help = run_shell(std::string(program) + " --help");
    CHECK(help.exit_code == 0);
    CHECK_THAT(help.out,
               Catch::Contains(std::string("\nUsage: ") + program) && Catch::Contains("--version"));
  }
}
