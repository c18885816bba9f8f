// generate: continues a prompt with a trained model.
#include "tools/common/print.h"
#include "tools/common/tool.h"
#include "tools/generate/generate.h"

int main(int argc, char** argv) {
  return skep::run_tool("generate", argc, argv, [](const skep::Arguments& arguments) {
    const skep::GenerateOptions options = skep::parse_generate(arguments);
    if (options.help.empty())
      skep::generate(options);
    else
      skep::print(options.help);
  });
}
