#include "train/observe/rank_log.h"

#include <fmt/chrono.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <sstream>

#include "engine/core/error.h"
#include "engine/core/files.h"

namespace skep {
namespace {

class RankLog final : public Observer {
 public:
  RankLog(const std::string& folder, int rank) {
    const std::string path = fmt::format("{}/log.rank-{}", folder, rank);
    file_.reset(std::fopen(path.c_str(), "a"));
    if (!file_)
      fail(ErrorKind::storage, "{}: cannot be opened for writing: {}", path,
           describe_write_error(errno));
  }
  void on_step(const StepReport& r) override {
    if (r.over_ranks.empty()) return;
    write("INFO",
          fmt::format("step {}: loss {:.4f}, {:.3g} s of which {:.3g} s waiting, {:.3g} s of "
                      "CPU time, {:.0f} MB of memory ({:.0f} MB at most)",
                      r.step, r.loss, r.step_seconds, r.comm_wait_seconds, r.cpu_seconds,
                      static_cast<double>(r.rss_bytes) / 1e6,
                      static_cast<double>(r.peak_rss_bytes) / 1e6));
  }
  void on_validation(std::int64_t step, double loss) override {
    on_message(fmt::format("step {}: validation loss {:.6f}", step, loss));
  }
  void on_message(const std::string& text) override { write("INFO", text); }
  void on_warning(const std::string& text) override { write("WARN", text); }

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  // Each line of a text gets a time and a level of its own: what looks for them finds it whole.
  void write(const char* level, const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      fmt::print(file_.get(), "{:%Y-%m-%dT%H:%M:%SZ} {} {}\n", fmt::gmtime(std::time(nullptr)),
                 level, line);
    std::fflush(file_.get());  // a log that cannot be written does not end a run
  }
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace

std::unique_ptr<Observer> make_rank_log(const std::string& folder, int rank) {
  return std::make_unique<RankLog>(folder, rank);
}

}  // namespace skep
