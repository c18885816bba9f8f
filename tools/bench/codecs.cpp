// bench codecs: what it costs to make gradients small: encoding and decoding one buffer on one
// thread, beside the bytes that are left of it.
#include <nlohmann/json.hpp>
#include <random>

#include "engine/core/error.h"
#include "tools/bench/commands.h"
#include "tools/bench/training_step.h"
#include "tools/common/print.h"
#include "train/compress/codec.h"
#include "train/compress/topk.h"

namespace skep {
namespace {

using Floats = std::vector<float>;

struct CodecTimes {
  std::string name;
  double bytes, encode_seconds, decode_seconds;  ///< of the whole buffer; medians
};

Floats normal_values(std::int64_t count) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  Floats values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

double median_seconds(std::int64_t runs, const std::function<void()>& work) {
  return median(time_runs(1, static_cast<int>(runs), work));
}

CodecTimes time_codec(const Codec& codec, const Floats& values, std::int64_t runs) {
  std::vector<std::byte> encoded(codec.bytes(values.size()));
  Floats decoded(values.size());
  const double encode = median_seconds(runs, [&] { codec.encode(values, encoded); });
  const double decode = median_seconds(runs, [&] { codec.decode(encoded, decoded); });
  return {codec.name(), static_cast<double>(encoded.size()), encode, decode};
}

/// What sparse_sum does: entries are chosen, and added to zeros.
CodecTimes time_topk(double density, const Floats& values, std::int64_t runs) {
  std::vector<SparseEntry> entries;
  Floats sums(values.size());
  const double encode = median_seconds(
      runs, [&] { entries = select_topk(values, topk_count(values.size(), density)); });
  const double decode = median_seconds(runs, [&] {
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (const SparseEntry& entry : entries) sums[entry.index] += entry.value;
  });
  return {"topk", static_cast<double>(entries.size() * sizeof(SparseEntry)), encode, decode};
}

void print_table(const std::vector<CodecTimes>& rows, double elements) {
  print(fmt::format("{:<10} {:>14} {:>16} {:>16}\n", "codec", "bytes/element", "encode ns/elem.",
                    "decode ns/elem."));
  for (const CodecTimes& row : rows)
    print(fmt::format("{:<10} {:>14.4f} {:>16.3f} {:>16.3f}\n", row.name, row.bytes / elements,
                      1e9 * row.encode_seconds / elements, 1e9 * row.decode_seconds / elements));
}

void print_json(const std::vector<CodecTimes>& rows, double elements) {
  nlohmann::ordered_json json;
  for (const CodecTimes& row : rows)
    json[row.name] = {{"bytes_per_element", row.bytes / elements},
                      {"encode_s_per_element", row.encode_seconds / elements},
                      {"decode_s_per_element", row.decode_seconds / elements}};
  print(json.dump(1) + "\n");
}

}  // namespace

void bench_codecs(const Arguments& arguments) {
  const auto flags = make_flags(
      "bench codecs", "Times the codecs of compress.codec on normally distributed values.");
  std::int64_t elements = 1 << 20, runs = 7, block = 256;
  double density = 0.05;
  bool json = false;
  add_number(*flags, "--elements", "N", elements, "of the buffer");
  add_number(*flags, "--density", "D", density, "share that topk codecs send exactly");
  add_number(*flags, "--block", "N", block, "elements that share one step of int8 and int4");
  add_number(*flags, "--runs", "N", runs, "runs whose median counts");
  flags->add_flag("--json", json, "print JSON instead of a table");
  if (const std::string help = parse(*flags, arguments); !help.empty()) return print(help);
  if (elements < 1 || runs < 1 || block < 1)
    fail(ErrorKind::usage, "--elements, --runs and --block must be at least 1");
  if (!(density > 0 && density <= 1))
    fail(ErrorKind::usage, "--density must be greater than 0 and at most 1");

  const Floats values = normal_values(elements);
  std::vector<CodecTimes> rows;
  for (const auto& codec : {make_bf16_codec(), make_int8_codec(block), make_int4_codec(block)})
    rows.push_back(time_codec(*codec, values, runs));
  rows.push_back(time_topk(density, values, runs));
  rows.push_back(time_codec(*make_topk_codec(density, make_int8_codec(block)), values, runs));
  rows.push_back(time_codec(*make_topk_codec(density, make_int4_codec(block)), values, runs));
  const auto count = static_cast<double>(elements);
  json ? print_json(rows, count) : print_table(rows, count);
}

}  // namespace skep
