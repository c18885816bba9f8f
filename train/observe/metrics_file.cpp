#include "train/observe/metrics_file.h"

#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "train/observe/line_file.h"
#include "train/observe/metrics.h"

namespace skep {
namespace {

using Json = nlohmann::ordered_json;

// Lines that stay true after a restart at step `first`; from step 0 on, none.
bool json_is_of(const std::string& line, std::int64_t first) {
  const Json json = Json::parse(line, nullptr, false);
  return first > 0 && json.is_object() && json.value("step", first + 1) <= first;
}

bool row_is_of(const std::string& line, std::int64_t first) {
  std::int64_t step = first + 1;  // of the header too
  std::from_chars(line.data(), line.data() + line.size(), step);
  return first > 0 && step <= first;
}

class MetricsFile final : public Observer {
 public:
  MetricsFile(const std::string& path, std::int64_t first)
      : file_(path, "", [first](const std::string& line) { return json_is_of(line, first); }) {}
  void on_step(const StepReport& r) override { file_.write(step_fields(r).dump()); }
  void on_validation(std::int64_t step, double loss) override {
    file_.write(validation_fields(step, loss).dump());
  }

 private:
  LineFile file_;
};

// Names and words of a run hold neither commas nor quotes, so cells need no escaping.
class CsvFile final : public Observer {
 public:
  CsvFile(const std::string& path, std::int64_t first)
      : columns_(column_names()),
        file_(path, fmt::format("{}", fmt::join(columns_, ",")),
              [first](const std::string& line) { return row_is_of(line, first); }) {}
  void on_step(const StepReport& r) override { write(step_fields(r)); }
  void on_validation(std::int64_t step, double loss) override {
    write(validation_fields(step, loss));
  }

 private:
  static std::vector<std::string> column_names() {
    std::vector<std::string> names;
    const Json fields = step_fields({});
    for (const auto& field : fields.items()) names.push_back(field.key());
    names.push_back("val_loss");
    return names;
  }
  void write(const Json& fields) {
    std::string row;
    for (const std::string& column : columns_) {
      if (!row.empty()) row += ',';
      const Json value = fields.value(column, Json(nullptr));
      if (value.is_string())
        row += value.get<std::string>();
      else if (!value.is_null())
        row += value.dump();
    }
    file_.write(row);
  }

  std::vector<std::string> columns_;
  LineFile file_;
};

class LrHistory final : public Observer {
 public:
  LrHistory(const std::string& path, std::int64_t first)
      : file_(path, "step,cycle,jitter,val_loss,next_from",
              [first](const std::string& line) { return row_is_of(line, first); }) {}
  void on_validation(std::int64_t, double) override {}
  void on_cycle(const CycleReport& c) override {
    const std::string loss =
        std::isnan(c.validation_loss) ? "" : fmt::format("{}", c.validation_loss);
    file_.write(fmt::format("{},{},{},{},{}", c.step, c.cycle, c.jitter, loss, c.next_from));
  }

 private:
  LineFile file_;
};

}  // namespace

std::unique_ptr<Observer> make_lr_history(const std::string& path, std::int64_t first) {
  return std::make_unique<LrHistory>(path, first);
}

std::unique_ptr<Observer> make_csv_file(const std::string& path, std::int64_t first) {
  return std::make_unique<CsvFile>(path, first);
}

std::unique_ptr<Observer> make_metrics_file(const std::string& path, std::int64_t first) {
  return std::make_unique<MetricsFile>(path, first);
}

}  // namespace skep
