#include "tools/tokenize/raw_tokens.h"

#include <vector>

#include "engine/core/error.h"
#include "engine/core/files.h"

namespace skep {

void write_raw_tokens(const std::string& path, std::span<const std::int32_t> ids) {
  std::vector<std::uint16_t> narrow(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    narrow[i] = static_cast<std::uint16_t>(ids[i]);
    if (narrow[i] != ids[i])
      fail(ErrorKind::data,
           "{}: token {} at position {} does not fit nanoGPT's uint16: use --format llmc", path,
           ids[i], i);
  }
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(narrow)));
  file.commit();
}

}  // namespace skep
