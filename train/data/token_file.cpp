#include "train/data/token_file.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "engine/core/error.h"
#include "engine/core/files.h"

namespace skep {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are mapped as they are");

/// A layout of llm.c shards.
struct Layout {
  std::int32_t magic;
  std::int32_t version;
  TokenType type;
  const char* name;
};
constexpr Layout layouts[] = {
    {20240520, 1, TokenType::uint16, "llm.c shard, uint16 (GPT-2)"},
    {20240801, 7, TokenType::uint32, "llm.c shard, uint32 (Llama-3)"},
};

using Header = std::array<std::int32_t, 256>;
constexpr std::int64_t header_bytes = sizeof(Header);

const Layout* find_layout(std::int32_t magic) {
  for (const Layout& layout : layouts)
    if (layout.magic == magic) return &layout;
  return nullptr;
}

/// llm.c's other files (weights, tokenizers, evaluations) have dates of 2024 as magic, too.
bool is_other_llmc_magic(std::int32_t magic) { return magic >= 20240101 && magic <= 20241231; }

/// The first four bytes, or 0 for a shorter file.
std::int32_t first_word(std::span<const std::byte> bytes) {
  std::int32_t word = 0;
  if (bytes.size() >= sizeof word) std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

TokenFile open_shard(std::shared_ptr<MappedFile> file, const Layout& layout,
                     const std::string& path) {
  const auto bytes = file->bytes();
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (size < header_bytes)
    fail(ErrorKind::data,
         "{}: truncated: an llm.c header has {} bytes, the file {}; prepare it again", path,
         header_bytes, size);
  Header header;
  std::memcpy(header.data(), bytes.data(), sizeof header);
  if (header[1] != layout.version)
    fail(ErrorKind::data,
         "{}: llm.c magic {} with version {}, expected version {}; prepare it again", path,
         layout.magic, header[1], layout.version);
  if (header[2] < 0)
    fail(ErrorKind::data, "{}: the header says {} tokens; prepare it again", path, header[2]);
  const std::int64_t count = header[2];
  const std::int64_t expected = header_bytes + count * size_bytes(layout.type);
  if (size != expected)
    fail(ErrorKind::data, "{}: {}: {} tokens take {} bytes, the file has {}; prepare it again",
         path, size < expected ? "truncated" : "bytes left over", count, expected, size);
  TokenStream tokens(file, bytes.data() + header_bytes, layout.type, count, path);
  return {std::move(tokens), layout.name};
}

TokenFile open_raw(std::shared_ptr<MappedFile> file, const std::string& path) {
  const auto bytes = file->bytes();
  if (bytes.size() % 2 != 0)
    fail(ErrorKind::data,
         "{}: {} bytes are no whole number of uint16 tokens (nanoGPT) and there is no llm.c "
         "header: truncated, or not a token file",
         path, bytes.size());
  const auto count = static_cast<std::int64_t>(bytes.size() / 2);
  return {TokenStream(file, bytes.data(), TokenType::uint16, count, path), "raw uint16 (nanoGPT)"};
}

}  // namespace

bool is_token_file(const std::string& path) {
  return path.ends_with(".bin") || find_layout(first_word(MappedFile(path).bytes())) != nullptr;
}

TokenFile open_token_file(const std::string& path) {
  auto file = std::make_shared<MappedFile>(path);
  if (file->bytes().empty()) fail(ErrorKind::data, "{}: the file is empty; prepare it again", path);
  const std::int32_t magic = first_word(file->bytes());
  if (const Layout* layout = find_layout(magic)) return open_shard(std::move(file), *layout, path);
  if (is_other_llmc_magic(magic))
    fail(ErrorKind::data, "{}: an llm.c file with magic {}, but token files have {} or {}", path,
         magic, layouts[0].magic, layouts[1].magic);
  return open_raw(std::move(file), path);
}

void write_token_file(const std::string& path, std::span<const std::int32_t> ids,
                      std::int64_t vocab_size) {
  if (ids.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    fail(ErrorKind::data, "{}: {} tokens do not fit one file (2147483647); write several", path,
         ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= vocab_size)
      fail(ErrorKind::data, "{}: token {} at position {} is outside the vocabulary of {}", path,
           ids[i], i, vocab_size);
  const Layout& layout = layouts[token_type_for(vocab_size) == TokenType::uint16 ? 0 : 1];
  Header header{};
  header[0] = layout.magic;
  header[1] = layout.version;
  header[2] = static_cast<std::int32_t>(ids.size());
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(header)));
  for (const std::int32_t id : ids)
    file.write(std::as_bytes(std::span(&id, 1)).first(size_bytes(layout.type)));
  file.commit();
}

void require_ids_below(const TokenStream& tokens, std::int64_t vocab_size) {
  const std::int64_t position = tokens.find_outside(vocab_size);
  if (position < 0) return;
  const std::int64_t id = tokens.part(position, 1).largest();
  const TokenPlace place = tokens.place(position);
  fail(ErrorKind::data,
       "{}: token {} at position {} is outside the vocabulary of {} ids: name the tokenizer the "
       "file was made with, or prepare it again",
       place.file, id, place.position, vocab_size);
}

}  // namespace skep
