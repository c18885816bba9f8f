#pragma once
// Builds safetensors files byte by byte, independently of the writer under test.
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

namespace skep {

namespace fs = std::filesystem;

/// A folder that lives as long as the test.
struct TemporaryFolder {
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "safetensors-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~TemporaryFolder() { fs::remove_all(path); }
  fs::path path;
};

inline std::string read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::span<const std::byte> as_span(const std::string& bytes) {
  return std::as_bytes(std::span(bytes));
}

inline std::string length_bytes(std::uint64_t length) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(length >> (8 * i));
  return bytes;
}

/// A file with this header and a buffer of `buffer_bytes` bytes.
inline std::string file_of(const std::string& header, std::size_t buffer_bytes) {
  return length_bytes(header.size()) + header + std::string(buffer_bytes, '\1');
}

/// `"name":{…}` of a header.
inline std::string entry(const std::string& name, const std::string& type, const std::string& shape,
                         const std::string& offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, type, shape,
                     offsets);
}

/// `{entry,…}`.
template <class... More>
std::string header_of(const std::string& first, const More&... more) {
  std::string members = first;
  ((members += "," + more), ...);
  return fmt::format("{{{}}}", members);
}

}  // namespace skep
