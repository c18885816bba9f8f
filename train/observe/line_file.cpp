#include "train/observe/line_file.h"

#include <cerrno>
#include <filesystem>
#include <sstream>

#include "engine/core/error.h"
#include "engine/core/files.h"

namespace skep {

LineFile::LineFile(const std::string& path, const std::string& head,
                   const std::function<bool(const std::string&)>& keep)
    : path_(path) {
  std::string kept = head.empty() ? "" : head + "\n";
  if (std::filesystem::exists(path)) {
    std::istringstream lines(read_file(path));
    for (std::string line; std::getline(lines, line);)
      if (keep(line)) kept += line + "\n";
  }
  write_file(path, kept);
  file_.reset(std::fopen(path.c_str(), "a"));
  if (!file_)
    fail(ErrorKind::storage, "{}: cannot be opened for writing: {}", path,
         describe_write_error(errno));
}

void LineFile::write(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
      std::fflush(file_.get()) != 0)
    fail(ErrorKind::storage, "{}: cannot be written: {}", path_, describe_write_error(errno));
}

}  // namespace skep
