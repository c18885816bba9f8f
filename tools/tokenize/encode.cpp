// tokenize ids, tokenize encode.
#include "engine/core/error.h"
#include "tools/common/print.h"
#include "tools/common/token_ids.h"
#include "tools/tokenize/commands.h"
#include "tools/tokenize/named_tokenizer.h"
#include "tools/tokenize/raw_tokens.h"
#include "train/data/text_file.h"
#include "train/data/token_file.h"

namespace skep {
namespace {

struct TextFlags {
  std::string tokenizer, file;
  void add_to(CLI::App& flags) {
    flags
        .add_option("--tokenizer", tokenizer,
                    "byte, char (the text's own characters), or a tokenizer.json or its folder")
        ->type_name("T")
        ->required();
    flags.add_option("FILE", file, "the text; -: standard input")->type_name("")->required();
  }
};

struct Encoded {
  std::vector<std::int32_t> ids;
  std::int64_t vocab_size;
};

Encoded encode(const TextFlags& flags) {
  const std::string text = read_input(flags.file);
  try {
    require_text(text);
    const auto tokenizer = named_tokenizer(flags.tokenizer, text);
    return {tokenizer->encode(text), tokenizer->vocab_size()};
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", flags.file, error.what()));
  }
}

}  // namespace

void tokenize_ids(const Arguments& arguments) {
  const auto flags = make_flags("tokenize ids", "Prints the token ids of a text on one line.");
  TextFlags text;
  text.add_to(*flags);
  if (const std::string help = parse(*flags, arguments); !help.empty()) return print(help);
  print(format_ids(encode(text).ids) + "\n");
}

void tokenize_encode(const Arguments& arguments) {
  const auto flags =
      make_flags("tokenize encode", "Writes the token ids of a text into a token file.");
  TextFlags text;
  std::string out, format = "llmc";
  text.add_to(*flags);
  flags->add_option("--out", out, "the token file to write")->type_name("OUT.bin")->required();
  flags->add_option("--format", format, "llmc (with a header) or nanogpt (raw uint16)")
      ->type_name("FORMAT")
      ->capture_default_str();
  if (const std::string help = parse(*flags, arguments); !help.empty()) return print(help);
  if (format != "llmc" && format != "nanogpt")
    fail(ErrorKind::usage, "--format must be llmc or nanogpt, not {}", format);
  const Encoded encoded = encode(text);
  if (encoded.ids.empty()) fail(ErrorKind::data, "{}: the text is empty", text.file);
  if (format == "llmc")
    write_token_file(out, encoded.ids, encoded.vocab_size);
  else
    write_raw_tokens(out, encoded.ids);
  print(fmt::format("{}: {} tokens, vocabulary {}\n", out, encoded.ids.size(), encoded.vocab_size));
}

}  // namespace skep
