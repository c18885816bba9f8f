#include "train/observe/metrics_file.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/core/error.h"
#include "engine/core/files.h"

namespace skep {
namespace {

using Json = nlohmann::ordered_json;

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }  // JSON has no NaN

// The lines that stay true after a restart at step `first`.
std::string lines_up_to(const std::string& path, std::int64_t first) {
  if (first == 0 || !std::filesystem::exists(path)) return {};
  std::istringstream lines(read_file(path));
  std::string kept, line;
  while (std::getline(lines, line)) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_object() && json.value("step", first + 1) <= first) kept += line + "\n";
  }
  return kept;
}

class MetricsFile final : public Observer {
 public:
  MetricsFile(const std::string& path, std::int64_t first) : path_(path) {
    write_file(path, lines_up_to(path, first));
    file_.reset(std::fopen(path.c_str(), "a"));
    if (!file_)
      fail(ErrorKind::storage, "{}: cannot be opened for writing: {}", path,
           describe_write_error(errno));
  }
  void on_step(const StepReport& r) override {
    Json json;
    json["step"] = r.step;
    json["epoch"] = r.epoch;
    json["loss"] = number(r.loss);
    json["lr"] = r.lr;
    json["grad_norm"] = number(r.grad_norm);
    json["tokens"] = r.tokens;
    json["updates"] = r.updates;
    json["tokens_per_s"] = r.tokens_per_second;
    json["step_s"] = r.step_seconds;
    json["compute_s"] = r.compute_seconds;
    json["comm_wait_s"] = r.comm_wait_seconds;
    json["loader_wait_s"] = r.loader_wait_seconds;
    json["bytes_sent"] = r.bytes_sent;
    json["topology"] = r.topology;
    json["sync"] = r.sync;
    json["scale"] = r.scale;
    json["skipped"] = r.skipped;
    json["rss_bytes"] = r.rss_bytes;
    write(json);
  }
  void on_validation(std::int64_t step, double loss) override {
    Json json;
    json["step"] = step;
    json["val_loss"] = number(loss);
    write(json);
  }

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  void write(const Json& json) {
    const std::string line = json.dump() + "\n";
    if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() ||
        std::fflush(file_.get()) != 0)
      fail(ErrorKind::storage, "{}: cannot be written: {}", path_, describe_write_error(errno));
  }

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace

std::unique_ptr<Observer> make_metrics_file(const std::string& path, std::int64_t first) {
  return std::make_unique<MetricsFile>(path, first);
}

}  // namespace skep
