// tokenize train.
#include "engine/core/error.h"
#include "engine/core/files.h"
#include "tools/common/print.h"
#include "tools/tokenize/commands.h"
#include "tools/tokenize/named_tokenizer.h"
#include "train/data/text_file.h"

namespace skep {
namespace {

std::shared_ptr<const Tokenizer> train(const std::string& kind, const std::string& file) {
  if (kind == "byte") return named_tokenizer(kind);  // the same for every text
  if (file.empty()) fail(ErrorKind::usage, "--kind char needs the FILE whose characters it takes");
  const std::string text = read_input(file);
  try {
    require_text(text);
    return named_tokenizer(kind, text);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", file, error.what()));
  }
}

}  // namespace

void tokenize_train(const Arguments& arguments) {
  const auto flags = make_flags(
      "tokenize train", "Makes a tokenizer and writes it as a Hugging Face tokenizer.json.");
  std::string kind, file, out;
  flags->add_option("--kind", kind, "char: an id for each character of FILE; byte: 256 ids")
      ->type_name("KIND")
      ->required();
  flags->add_option("FILE", file, "the text (byte needs none); -: standard input")->type_name("");
  flags->add_option("--out", out, "the folder to write into; made if it is missing")
      ->type_name("DIR")
      ->required();
  if (const std::string help = parse(*flags, arguments); !help.empty()) return print(help);
  if (kind != "char" && kind != "byte")
    fail(ErrorKind::usage, "--kind must be char or byte, not {}", kind);
  const auto tokenizer = train(kind, file);
  make_directories(out);
  tokenizer->save(out);
  print(fmt::format("{}/tokenizer.json: {}, {} ids\n", out, kind, tokenizer->vocab_size()));
}

}  // namespace skep
