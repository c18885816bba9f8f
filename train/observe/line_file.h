#pragma once
// A file that grows by lines, each of them on its way to the disk before the next: what a run that
// dies has measured is there to read.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace skep {

class LineFile {
 public:
  /// Continues the file at `path`, keeping the lines that `keep` wants below `head`, which may be
  /// empty. Error(storage) when it cannot be written.
  LineFile(const std::string& path, const std::string& head,
           const std::function<bool(const std::string&)>& keep);

  /// `line` without its newline. Error(storage).
  void write(std::string_view line);

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace skep
