#include "train/data/data_files.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "engine/core/error.h"

namespace skep {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  std::error_code unknown;
  return fs::exists(path, unknown);
}

bool is_folder(const std::string& path) {
  std::error_code unknown;
  return fs::is_directory(path, unknown);
}

std::vector<std::string> files_in(const std::string& folder) {
  std::error_code problem;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder, problem))
    if (!entry.is_directory() && !entry.path().filename().string().starts_with('.'))
      files.push_back(entry.path().string());
  if (problem) fail(ErrorKind::data, "the folder {} cannot be read: {}", folder, problem.message());
  if (files.empty()) fail(ErrorKind::data, "the folder {} holds no files", folder);
  return files;
}

std::vector<std::string> files_like(const std::string& pattern) {
  glob_t found = {};
  glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  std::erase_if(files, is_folder);
  if (files.empty()) fail(ErrorKind::data, "no file is like {}", pattern);
  return files;
}

std::vector<std::string> files_of_part(const std::string& part) {
  if (exists(part) && !is_folder(part)) return {part};
  if (!exists(part) && part.find_first_of("*?[") == std::string::npos)
    fail(ErrorKind::data, "there is no file {}: name a text or a .bin file of tokens", part);
  std::vector<std::string> files = is_folder(part) ? files_in(part) : files_like(part);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<std::string> find_data_files(const std::string& wanted) {
  if (exists(wanted)) return files_of_part(wanted);  // its name may hold a comma
  std::vector<std::string> files;
  std::istringstream parts(wanted);
  for (std::string part; std::getline(parts, part, ',');)
    std::ranges::copy(files_of_part(part), std::back_inserter(files));
  std::set<std::string> seen;
  for (const std::string& file : files)
    if (!seen.insert(fs::path(file).lexically_normal()).second)
      fail(ErrorKind::data, "{} is named twice: its samples would come twice an epoch", file);
  return files;
}

std::string describe_files(const std::vector<std::string>& files) {
  if (files.size() == 1) return files.front();
  return fmt::format("{} files, {} … {}", files.size(), files.front(), files.back());
}

}  // namespace skep
