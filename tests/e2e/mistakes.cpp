#include "mistakes.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <thread>

#include "program.h"

namespace skep::test {
namespace {

namespace fs = std::filesystem;

// Starting and ending ranks is mostly waiting.
constexpr std::size_t rows_at_a_time = 4;
// Ten seconds are promised; a busy machine gets three times as many.
constexpr const char* limit = "timeout -k 1 30 ";

constexpr const char* small_toml = R"([run]
dir = "run"
steps = 2
progress = "plain"
eval_every = 0
[model]
layers = 1
heads = 2
width = 32
context = 16
[data]
train = "text.txt"
tokenizer = "char"
[batch]
global_batch = 12
[checkpoint]
every = 1
)";

/// Shell words before and after `mpirun -np N`.
struct Surroundings {
  std::string before, after;
};

Surroundings surroundings(Inside inside) {
  const auto mounted = [](const std::string& mount, const std::string& at_last = "") {
    return Surroundings{"unshare -m sh -c '" + mount + " || exit 99; \"$@\"; code=$?; " + at_last +
                            "exit $code' - ",
                        ""};
  };
  switch (inside) {
    case Inside::nothing:
      break;
    case Inside::small_disk:
      return mounted("mount -t tmpfs -o size=300k none disk", "cp -r disk left; ");
    case Inside::full_disk:
      return mounted("mount -t tmpfs -o size=4k none disk");
    case Inside::read_only:
      return mounted("mount --bind -o ro disk disk");
    case Inside::unprivileged:
      return {"setpriv --bounding-set=-all ", ""};
    case Inside::small_files:
      // Open MPI's own files (shared memory) must stay out of the limit's way.
      return {"", " --mca btl self,tcp -x PMIX_MCA_gds=hash sh -c 'ulimit -f 64; exec \"$@\"' -"};
  }
  return {};
}

/// A folder with what mistakes.h promises, and shell commands run in it.
class Place {
 public:
  Place() {
    make_directories(folder());
    write_file(folder() + "/text.txt", synthetic_text(3001));
    write_file(folder() + "/small.toml", small_toml);
  }
  /// A copy of another place's files.
  explicit Place(const Place& other) {
    fs::copy(other.folder(), folder(), fs::copy_options::recursive);
  }

  std::string folder() const { return scratch_.path + "/a größe"; }

  Ending shell(const std::string& text) const {
    const std::string script = scratch_.path + "/script";
    write_file(script, "PATH=" SKEP_BINARIES ":$PATH\ncd '" + folder() + "' || exit 99\n" + text);
    return run_program("sh " + script, scratch_);
  }

  Ending ranks(int ranks, const std::string& command, Inside inside = Inside::nothing) const {
    const Surroundings around = surroundings(inside);
    return shell("exec " + std::string(limit) + around.before + MPIEXEC + " -q -np " +
                 std::to_string(ranks) + around.after + " " + command);
  }

 private:
  ScratchFolder scratch_;
};

/// Every file below `folder` with its bytes.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[fs::relative(entry.path(), folder).string()] = read_file(entry.path().string());
  return files;
}

/// The processes that work in `folder`.
std::vector<std::string> processes_in(const fs::path& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::error_code gone;
    if (fs::read_symlink(entry.path() / "cwd", gone) == folder)
      found.push_back(entry.path().filename().string());
  }
  return found;
}

struct Outcome {
  Ending setup, ending, afterwards;
  bool changed = false;
  std::vector<std::string> left;  ///< processes that outlived the command
};

Outcome run_row(const Place& fixture, const Mistake& row, int ranks) {
  const Place place(fixture);
  Outcome outcome;
  outcome.setup = place.shell("set -e\n" + row.setup);
  const std::string intact = place.folder() + "/" + row.intact;
  const auto before = contents(intact);
  outcome.ending = place.ranks(ranks, row.command, row.inside);
  outcome.changed = contents(intact) != before;
  outcome.left = processes_in(place.folder());
  outcome.afterwards = place.shell("set -e\n" + row.afterwards);
  return outcome;
}

void finish_a_run(const Place& place) {
  const Ending ending = place.ranks(1, "train --config small.toml");
  INFO(ending.err);
  REQUIRE(ending.code == 0);
  REQUIRE(fs::exists(place.folder() + "/run/ckpt/step-1/manifest.json"));
}

std::map<Inside, bool> find_permitted(const std::vector<Mistake>& rows) {
  std::map<Inside, bool> permitted;
  for (const Mistake& row : rows) {
    if (permitted.count(row.inside)) continue;
    const Place place;
    make_directories(place.folder() + "/disk");
    permitted[row.inside] = place.ranks(1, "true", row.inside).code == 0;
  }
  return permitted;
}

struct Job {
  const Mistake* row;
  int ranks;
  Outcome outcome;
};

std::vector<Job> run_rows(const std::vector<Mistake>& rows) {
  const Place fixture;
  finish_a_run(fixture);
  auto permitted = find_permitted(rows);
  std::vector<Job> jobs;
  for (const Mistake& row : rows) {
    if (!permitted.at(row.inside)) {
      WARN("skipped, the system does not permit it: " << row.name);
      continue;
    }
    for (const int ranks : row.ranks) jobs.push_back({&row, ranks, {}});
  }
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < rows_at_a_time; ++i)
    workers.emplace_back([&] {
      for (std::size_t at; (at = next++) < jobs.size();)
        jobs[at].outcome = run_row(fixture, *jobs[at].row, jobs[at].ranks);
    });
  for (std::thread& worker : workers) worker.join();
  return jobs;
}

}  // namespace

void check_mistakes(const std::vector<Mistake>& rows) {
  for (const Job& job : run_rows(rows)) {
    const Ending& ending = job.outcome.ending;
    INFO(job.row->name << " at " << job.ranks << " ranks: " << job.row->command << "\nstderr:\n"
                       << ending.err);
    CHECK(job.outcome.setup.code == 0);
    CHECK(ending.code == job.row->code);
    CHECK(lines_of(ending.err).size() == 1);
    CHECK_THAT(ending.err, Catch::Contains(job.row->says));
    CHECK_FALSE(job.outcome.changed);
    CHECK(job.outcome.left.empty());
    INFO(job.outcome.afterwards.out << job.outcome.afterwards.err);
    CHECK(job.outcome.afterwards.code == 0);
  }
}

void check_works(const std::vector<Example>& examples) {
  std::vector<Mistake> rows;
  for (const Example& e : examples) rows.push_back({e.name, e.setup, e.command, 0, e.says});
  for (const Job& job : run_rows(rows)) {
    const Ending& ending = job.outcome.ending;
    INFO(job.row->name << " at " << job.ranks << " ranks: " << job.row->command << "\n"
                       << ending.out << ending.err);
    CHECK(job.outcome.setup.code == 0);
    CHECK(ending.code == 0);
    CHECK(ending.err.empty());
    CHECK_THAT(ending.out, Catch::Contains(job.row->says));
    CHECK(job.outcome.left.empty());
  }
}

}  // namespace skep::test
