#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "engine/core/files.h"
#include "tests/train/helpers.h"

using namespace skep;
using Catch::Contains;

TEST_CASE("files: bytes written are the bytes read and mapped") {
  const TemporaryFolder folder;
  std::string bytes;
  for (int i = 0; i < 3'000'000; ++i) bytes += static_cast<char>(i * 7 + i / 256);
  const std::string path = folder / "data";
  AtomicFile file(path);
  file.write(bytes.substr(0, 10));          // small: buffered
  file.write(bytes.substr(10, 2'500'000));  // larger than the buffer: written through
  file.write(bytes.substr(2'500'010));
  CHECK_FALSE(std::filesystem::exists(path));  // not before commit
  file.commit();
  CHECK(read_file(path) == bytes);
  CHECK(MappedFile(path).text() == bytes);
  CHECK(folder.entries() == 1);
}

TEST_CASE("files: an empty file is readable and mappable") {
  const TemporaryFolder folder;
  const std::string path = folder.file("empty", "");
  CHECK(read_file(path).empty());
  CHECK(MappedFile(path).bytes().empty());
}

TEST_CASE("files: what cannot be read is a data error that names it") {
  const TemporaryFolder folder;
  const auto read = [](const std::string& path) {
    const std::string message = error_of(ErrorKind::data, [&] { read_file(path); });
    CHECK(message == error_of(ErrorKind::data, [&] { MappedFile file(path); }));
    return message;
  };
  CHECK(read(folder / "nope") ==
        "cannot read " + (folder / "nope") + ": No such file or directory");
  CHECK_THAT(read(folder.path()), Contains("it is a directory"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THAT(read(folder / "pipe"), Contains("not a regular file"));
  CHECK_THAT(read(folder.file("plain", "x") + "/below"), Contains("Not a directory"));
}

TEST_CASE("files: without commit nothing changes and nothing is left") {
  const TemporaryFolder folder;
  const std::string path = folder.file("kept", "old");
  { AtomicFile(path).write("new"); }
  CHECK(read_file(path) == "old");
  CHECK(folder.entries() == 1);
  write_file(path, "new");
  CHECK(read_file(path) == "new");
}

TEST_CASE("files: a write that fails keeps the old file and removes the temporary") {
  // A limit on file sizes fails writes as a full disk does.
  const TemporaryFolder folder;
  const std::string path = folder.file("kept", "old");
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit tight { 1000, before.rlim_max };
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &tight) == 0);
  std::string message;
  try {
    write_file(path, std::string(5000, 'x'));
  } catch (const Error& error) {
    message = error.what();
    CHECK(error.exit_code() == 5);
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(message == "cannot write " + path +
                       ": write: File too large; raise the limit on file sizes (ulimit -f)");
  CHECK(read_file(path) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("files: places that cannot be written are storage errors") {
  const TemporaryFolder folder;
  const auto write = [](const std::string& path) {
    return error_of(ErrorKind::storage, [&] { write_file(path, "x"); });
  };
  CHECK_THAT(write(folder / "nope/file"),
             Contains(folder / "nope/file") && Contains("No such file or directory"));
  CHECK_THAT(write(folder.path()), Contains("it exists and is a directory"));
  CHECK_THAT(write("/dev/null"), Contains("not a regular file"));
  REQUIRE(std::filesystem::exists("/dev/null"));
}

TEST_CASE("files: make_directories creates parents and names what is in the way") {
  const TemporaryFolder folder;
  make_directories(folder / "a/b/c");
  make_directories(folder / "a/b/c");  // again: fine
  CHECK(std::filesystem::is_directory(folder / "a/b/c"));
  folder.file("plain", "x");
  CHECK(error_of(ErrorKind::storage, [&] { make_directories(folder / "plain/x"); }) ==
        "cannot create the directory " + (folder / "plain/x") + ": " + (folder / "plain") +
            " is a file, not a directory");
  CHECK_THAT(error_of(ErrorKind::storage, [&] { make_directories("/proc/nope/x"); }),
             Contains("/proc/nope: "));
}
