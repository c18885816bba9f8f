#include "train/checkpoint/folder.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <set>
#include <span>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "train/checkpoint/chain.h"

namespace skep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view step_prefix = "step-", temporary_suffix = ".tmp";

// The N of a folder called step-N, or -1.
std::int64_t step_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (name.compare(0, step_prefix.size(), step_prefix) != 0) return -1;
  std::int64_t step = -1;
  const char* end = name.data() + name.size();
  const auto result = std::from_chars(name.data() + step_prefix.size(), end, step);
  return result.ec == std::errc() && result.ptr == end ? step : -1;
}

// Where a checkpoint of the same step exists already the two change places in one operation, so
// that at every moment one of them stands under the name.
void exchange(const fs::path& temporary, const fs::path& final) {
  if (fs::exists(final) &&
      renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, final.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(temporary);
    return;
  }
  fs::remove_all(final);  // a file system that cannot exchange
  fs::rename(temporary, final);
}

// The same files under a second name; copies, where the file system has no such names.
void link_folder(const fs::path& from, const fs::path& to) {
  std::error_code error;
  constexpr auto all = fs::copy_options::recursive;
  fs::copy(from, to, all | fs::copy_options::create_hard_links, error);
  if (!error) return;
  fs::remove_all(to, error);
  fs::copy(from, to, all, error);
  if (error)
    fail(ErrorKind::storage, "{} cannot be copied to {}: {}", from.string(), to.string(),
         describe_write_error(error.value()));
}

// Names of checkpoints and of all they build on.
std::set<std::string> with_links(std::span<const std::string> checkpoints) {
  std::set<std::string> names;
  for (const std::string& checkpoint : checkpoints)
    for (fs::path link = checkpoint;
         !link.empty() && names.insert(link.filename().string()).second;)
      link = previous_of(link.string());
  return names;
}

}  // namespace

std::string checkpoint_path(const std::string& folder, std::int64_t step) {
  return (fs::path(folder) / fmt::format("{}{}", step_prefix, step)).string();
}

std::string unfinished_path(const std::string& folder, std::int64_t step) {
  return checkpoint_path(folder, step).append(temporary_suffix);
}

std::vector<std::string> list_checkpoints(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing))
    if (entry.is_directory() && step_of(entry.path()) >= 0) found.push_back(entry.path());
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return step_of(a) > step_of(b); });
  return {found.begin(), found.end()};
}

std::int64_t count_checkpoints(const std::string& folder, std::int64_t step) {
  const auto all = list_checkpoints(folder);
  return std::count_if(all.begin(), all.end(),
                       [&](const auto& path) { return step_of(path) <= step; });
}

void put_in_place(const std::string& folder, std::int64_t step) {
  const std::string final = checkpoint_path(folder, step);
  try {
    exchange(unfinished_path(folder, step), final);
  } catch (const fs::filesystem_error& error) {
    fail(ErrorKind::storage, "{}: checkpoint cannot be written: {}", final,
         describe_write_error(error.code().value()));
  }
  sync_directory(folder);
}

void prune_checkpoints(const std::string& folder, std::int64_t keep) {
  std::error_code ignored;  // tidying up must not end a run
  const auto checkpoints = list_checkpoints(folder);
  const auto kept = std::min(static_cast<std::size_t>(keep), checkpoints.size());
  const std::set<std::string> needed = with_links(std::span(checkpoints).first(kept));
  // The newest first: whenever this is interrupted, what is left has all that it builds on.
  for (const fs::path path : checkpoints)
    if (!needed.count(path.filename().string())) fs::remove_all(path, ignored);
  std::vector<fs::path> stale;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const fs::path& path = entry.path();
    if (path.extension() == temporary_suffix && step_of(path.parent_path() / path.stem()) >= 0)
      stale.push_back(path);
  }
  for (const fs::path& path : stale) fs::remove_all(path, ignored);
}

std::string set_aside_later(const std::string& folder, std::int64_t step) {
  std::vector<std::string> later, names;
  for (const fs::path path : list_checkpoints(folder))
    if (step_of(path) > step) {
      later.push_back(path.string());
      names.push_back(path.filename().string());
    }
  const std::set<std::string> needed = with_links(later);
  const std::string aside = move_to_previous(folder, names);
  if (aside.empty()) return aside;
  for (const std::string& name : needed)
    if (const fs::path link = fs::path(aside) / name; !fs::exists(link))
      if (fs::exists(fs::path(folder) / name)) link_folder(fs::path(folder) / name, link);
  return aside;
}

std::string newest_checkpoint(const std::string& folder,
                              const std::function<void(const std::string&)>& report) {
  for (const std::string& path : list_checkpoints(folder)) {
    const auto fault = find_fault(path);
    if (!fault) return path;
    report(fmt::format("skipping checkpoint {}: {}", path, fault->what()));
  }
  return {};
}

}  // namespace skep
