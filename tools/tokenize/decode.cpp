// tokenize decode.
#include "engine/core/error.h"
#include "tools/common/print.h"
#include "tools/common/token_ids.h"
#include "tools/tokenize/commands.h"
#include "tools/tokenize/named_tokenizer.h"
#include "train/data/token_file.h"

namespace skep {
namespace {

std::vector<std::int32_t> read_ids(const std::string& file, std::int64_t vocab_size) {
  if (file == "-") {
    std::vector<std::int32_t> ids = parse_ids(read_input(file), "standard input");
    require_known_ids(ids, vocab_size, "standard input");
    return ids;
  }
  const TokenStream tokens = open_token_file(file).tokens;
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens.size()));
  tokens.copy(0, ids);
  if (const std::int64_t position = tokens.find_outside(vocab_size); position >= 0)
    fail(ErrorKind::data,
         "{}: token {} at position {} is outside the vocabulary of {}: name the tokenizer the "
         "file was made with",
         file, ids[position], position, vocab_size);
  return ids;
}

}  // namespace

void tokenize_decode(const Arguments& arguments) {
  const auto flags = make_flags(
      "tokenize decode", "Prints the bytes of a token file, or of ids given on standard input.");
  std::string name, file;
  flags->add_option("--tokenizer", name, "byte, or a tokenizer.json or its folder")
      ->type_name("T")
      ->required();
  flags->add_option("FILE", file, "the token file; -: ids as text on standard input")
      ->type_name("")
      ->required();
  if (const std::string help = parse(*flags, arguments); !help.empty()) return print(help);
  const auto tokenizer = named_tokenizer(name);
  print(tokenizer->decode(read_ids(file, tokenizer->vocab_size())));
}

}  // namespace skep
