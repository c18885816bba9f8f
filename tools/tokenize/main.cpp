// tokenize: text to token ids and back, and new tokenizers.
#include "tools/tokenize/commands.h"

int main(int argc, char** argv) {
  const std::vector<skep::Command> commands = {
      {"ids", "prints the token ids of a text", skep::tokenize_ids},
      {"encode", "writes the token ids of a text into a token file", skep::tokenize_encode},
      {"decode", "prints the text of a token file, or of ids", skep::tokenize_decode},
      {"train", "makes a tokenizer from a text", skep::tokenize_train},
  };
  return skep::run_tool("tokenize", argc, argv, [&](const skep::Arguments& arguments) {
    skep::run_command("tokenize", "Text to token ids and back.", commands, arguments);
  });
}
