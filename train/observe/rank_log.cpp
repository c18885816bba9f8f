#include "train/observe/rank_log.h"

#include <fmt/chrono.h>

#include <cerrno>
#include <cstdio>
#include <ctime>

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
  void on_validation(std::int64_t step, double loss) override {
    on_message(fmt::format("step {}: validation loss {:.6f}", step, loss));
  }
  void on_message(const std::string& text) override {
    fmt::print(file_.get(), "{:%Y-%m-%dT%H:%M:%SZ} {}\n", fmt::gmtime(std::time(nullptr)), text);
    std::fflush(file_.get());  // a log that cannot be written does not end a run
  }

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace

std::unique_ptr<Observer> make_rank_log(const std::string& folder, int rank) {
  return std::make_unique<RankLog>(folder, rank);
}

}  // namespace skep
