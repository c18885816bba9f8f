// Event files: checksums of RFC 3720, bytes of TensorBoard's own writer, and what a run's file
// holds.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "train/observe/tensorboard.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;
namespace tb = skep::tensorboard;

namespace {

template <class T>
T take(std::string_view& bytes) {
  T value;
  REQUIRE(bytes.size() >= sizeof value);
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = take<std::uint8_t>(bytes);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

struct Event {
  std::uint64_t step = 0;
  std::string version;
  bool restart = false;
  std::map<std::string, float> scalars;
};

std::string_view take_string(std::string_view& bytes) {
  const std::size_t size = take_varint(bytes);
  REQUIRE(bytes.size() >= size);
  const std::string_view text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return text;
}

void read_summary(std::string_view bytes, Event& event) {
  while (!bytes.empty()) {
    REQUIRE(take_varint(bytes) == (1 << 3 | 2));  // value
    std::string_view value = take_string(bytes);
    REQUIRE(take_varint(value) == (1 << 3 | 2));  // tag
    const std::string tag(take_string(value));
    REQUIRE(take_varint(value) == (2 << 3 | 5));  // simple_value
    event.scalars[tag] = take<float>(value);
    REQUIRE(value.empty());
  }
}

std::vector<Event> read_events(std::string_view bytes) {
  std::vector<Event> events;
  while (!bytes.empty()) {
    const auto size = take<std::uint64_t>(bytes);
    take<std::uint32_t>(bytes);
    std::string_view data = bytes.substr(0, size);
    REQUIRE(data.size() == size);
    bytes.remove_prefix(size);
    take<std::uint32_t>(bytes);
    Event event;
    while (!data.empty()) {
      const std::uint64_t key = take_varint(data);
      if (key == (1 << 3 | 1))
        CHECK(take<double>(data) > 1.6e9);  // wall_time
      else if (key == (2 << 3 | 0))
        event.step = take_varint(data);
      else if (key == (3 << 3 | 2))
        event.version = take_string(data);
      else if (key == (5 << 3 | 2))
        read_summary(take_string(data), event);
      else if (key == (7 << 3 | 2))
        event.restart = take_string(data) == "\x08\x01";
      else
        FAIL("field " << key);
    }
    events.push_back(event);
  }
  return events;
}

std::string only_file(const std::string& folder) {
  std::string path;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    CHECK(path.empty());
    path = entry.path().string();
  }
  return path;
}

}  // namespace

TEST_CASE("tensorboard: CRC-32C has the values of RFC 3720") {
  CHECK(tb::crc32c(std::string(32, '\0')) == 0x8a9136aau);
  CHECK(tb::crc32c(std::string(32, '\xff')) == 0x62a8ab43u);
  std::string up, down;
  for (int i = 0; i < 32; ++i) up += static_cast<char>(i), down += static_cast<char>(31 - i);
  CHECK(tb::crc32c(up) == 0x46dd794eu);
  CHECK(tb::crc32c(down) == 0x113fdb5cu);
}

TEST_CASE("tensorboard: the bytes are those of TensorBoard's own writer") {
  const std::vector<tb::Scalar> training{
      {"train/loss", 3.25f}, {"train/lr", 1e-3f}, {"train/skipped", 0.0f}};
  const std::vector<tb::Scalar> validation{{"val/loss", -0.1f}};
  const std::vector<tb::Scalar> extreme{
      {std::string(200, 'x'), std::numeric_limits<float>::infinity()}};
  std::string bytes;
  for (const std::string& event :
       {tb::version_event(1700000000.25), tb::restart_event(1700000001.5, 301),
        tb::scalars_event(1700000002.75, 301, training),
        tb::scalars_event(1700000003.0, std::int64_t{1} << 40, validation),
        tb::scalars_event(1700000004.0, 302, extreme)})
    bytes += tb::frame(event);
  CHECK(bytes == read_file(SKEP_PARITY_FOLDER "/events.tfevents"));
}

TEST_CASE("tensorboard: a run's file has the numbers under their tags; a resumed one says so") {
  const ScratchFolder scratch;
  const std::int64_t first = GENERATE(0, 6);
  StepReport report;
  report.step = 7;
  report.loss = 2.5;
  report.grad_norm = std::nan("");
  report.skipped = true;
  report.topology = "ring";
  report.over_ranks = {{"compute_s", 1, 2, 4}};
  {
    const auto board = make_tensorboard(scratch.path + "/board", first);
    board->on_step(report);
    board->on_validation(7, 3.5);
  }
  std::vector<Event> events = read_events(read_file(only_file(scratch.path + "/board")));
  CHECK(events.front().version == "brain.Event:2");
  events.erase(events.begin());
  if (first > 0) {
    REQUIRE(events.front().restart);
    CHECK(events.front().step == 7);  // what was written from there on is void
    events.erase(events.begin());
  }
  REQUIRE(events.size() == 2);
  CHECK(events[0].step == 7);
  const auto& scalars = events[0].scalars;
  CHECK(scalars.at("train/loss") == 2.5f);
  CHECK(scalars.at("train/skipped") == 1.0f);
  CHECK(scalars.at("ranks/compute_s/median") == 2.0f);
  CHECK(scalars.count("train/grad_norm") + scalars.count("train/topology") == 0);
  CHECK(events[1].scalars == std::map<std::string, float>{{"val/loss", 3.5f}});
}
