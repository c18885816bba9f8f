#include "tools/common/print.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "engine/core/error.h"
#include "engine/core/files.h"

namespace skep {

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    fail(ErrorKind::storage, "standard output cannot be written: {}", std::strerror(errno));
}

void print_note(std::string_view text) { fmt::print(stderr, "{}\n", text); }

std::string read_input(const std::string& path) {
  if (path != "-") return read_file(path);
  std::string text;
  char block[1 << 16];
  while (const std::size_t count = std::fread(block, 1, sizeof block, stdin))
    text.append(block, count);
  if (std::ferror(stdin))
    fail(ErrorKind::data, "standard input cannot be read: {}", std::strerror(errno));
  return text;
}

}  // namespace skep
