#pragma once
// What the trainer's tests share: a folder that goes away, and the message of an expected error.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "engine/core/error.h"

namespace skep {

/// A new folder under the system's temporary one, removed at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::random_device entropy;
    path_ =
        (std::filesystem::temp_directory_path() / fmt::format("skep-{:08x}", entropy())).string();
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

  /// Writes a file of these bytes and returns its path.
  std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }

  /// The number of entries, to see that nothing was left behind.
  std::ptrdiff_t entries() const {
    return std::distance(std::filesystem::directory_iterator(path_), {});
  }

 private:
  std::string path_;
};

/// The message of the Error that `action` must throw; it must be one line of the given kind.
template <class Action>
std::string error_of(ErrorKind kind, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.exit_code() == static_cast<int>(kind));
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  FAIL("no error was thrown");
  return "";
}

/// The little-endian bytes of integers.
template <class T>
std::string raw_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace skep
