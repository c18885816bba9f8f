#include "train/observe/tensorboard.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "train/observe/metrics.h"

namespace skep {
namespace tensorboard {
namespace {

// A checksum of data that itself holds checksums is weak: TFRecords store it rotated and shifted.
std::uint32_t masked(std::uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8u; }

template <class T>
std::string little_endian(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
static_assert(std::endian::native == std::endian::little);

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

// Protobuf's wire types, and a field as (number << 3 | type) and its contents.
std::string key(std::uint32_t number, std::uint32_t type) { return varint(number << 3 | type); }
std::string field(std::uint32_t number, std::int64_t value) {
  // A field of the default value is left out.
  return value == 0 ? "" : key(number, 0) + varint(static_cast<std::uint64_t>(value));
}
std::string field(std::uint32_t number, double value) {
  return key(number, 1) + little_endian(value);
}
std::string field(std::uint32_t number, std::string_view value) {
  return key(number, 2) + varint(value.size()) + std::string(value);
}
std::string field(std::uint32_t number, float value) {
  return key(number, 5) + little_endian(value);
}

// The fields of the messages.
namespace event {
constexpr std::uint32_t wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7;
}
namespace session_log {
constexpr std::uint32_t status = 1;
constexpr std::int64_t start = 1;
}  // namespace session_log
namespace summary {
constexpr std::uint32_t value = 1, value_tag = 1, value_simple_value = 2;
}

std::string event_at(double wall_time, std::int64_t step) {
  return field(event::wall_time, wall_time) + field(event::step, step);
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> entries{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
      entries[i] = crc;
    }
    return entries;
  }();
  std::uint32_t crc = ~0u;
  for (const unsigned char byte : bytes) crc = crc >> 8 ^ table[(crc ^ byte) & 0xff];
  return ~crc;
}

std::string frame(std::string_view data) {
  const std::string length = little_endian(static_cast<std::uint64_t>(data.size()));
  return length + little_endian(masked(crc32c(length))) + std::string(data) +
         little_endian(masked(crc32c(data)));
}

std::string version_event(double wall_time) {
  return event_at(wall_time, 0) + field(event::file_version, std::string_view("brain.Event:2"));
}

std::string restart_event(double wall_time, std::int64_t step) {
  return event_at(wall_time, step) +
         field(event::session_log, field(session_log::status, session_log::start));
}

std::string scalars_event(double wall_time, std::int64_t step, std::span<const Scalar> scalars) {
  std::string values;
  for (const Scalar& scalar : scalars)
    values += field(summary::value, field(summary::value_tag, std::string_view(scalar.tag)) +
                                        field(summary::value_simple_value, scalar.value));
  return event_at(wall_time, step) + field(event::summary, std::string_view(values));
}

}  // namespace tensorboard

namespace {

using Json = nlohmann::ordered_json;
using tensorboard::Scalar;

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A reader takes the files of a folder in the order of their names: the time stands first.
std::string new_file_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("events.out.tfevents.{:010d}.{}.{}.{:09d}",
                     std::chrono::duration_cast<std::chrono::seconds>(now).count(), host.data(),
                     getpid(), now.count() % 1'000'000'000);
}

void add_numbers(std::vector<Scalar>& scalars, const std::string& prefix, const Json& fields) {
  for (const auto& [name, value] : fields.items()) {
    if (name == "step") continue;
    if (value.is_object())
      add_numbers(scalars, name == "ranks" ? "ranks/" : prefix + name + "/", value);
    else if (value.is_number())
      scalars.push_back({prefix + name, value.get<float>()});
    else if (value.is_boolean())
      scalars.push_back({prefix + name, value.get<bool>() ? 1.0f : 0.0f});
  }
}

class TensorBoard final : public Observer {
 public:
  TensorBoard(const std::string& folder, std::int64_t first) {
    make_directories(folder);
    path_ = folder + "/" + new_file_name();
    file_.reset(std::fopen(path_.c_str(), "wb"));
    if (!file_)
      fail(ErrorKind::storage, "{}: cannot be opened for writing: {}", path_,
           describe_write_error(errno));
    write(tensorboard::version_event(wall_time()));
    if (first > 0) write(tensorboard::restart_event(wall_time(), first + 1));
  }
  void on_step(const StepReport& r) override {
    std::vector<Scalar> scalars;
    add_numbers(scalars, "train/", step_fields(r));
    write(tensorboard::scalars_event(wall_time(), r.step, scalars));
  }
  void on_validation(std::int64_t step, double loss) override {
    const std::vector<Scalar> scalars{{"val/loss", static_cast<float>(loss)}};
    write(tensorboard::scalars_event(wall_time(), step, scalars));
  }

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  void write(const std::string& event) {
    const std::string record = tensorboard::frame(event);
    if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size() ||
        std::fflush(file_.get()) != 0)
      fail(ErrorKind::storage, "{}: cannot be written: {}", path_, describe_write_error(errno));
  }

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace

std::unique_ptr<Observer> make_tensorboard(const std::string& folder, std::int64_t first) {
  return std::make_unique<TensorBoard>(folder, first);
}

}  // namespace skep
