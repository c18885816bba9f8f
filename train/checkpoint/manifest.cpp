#include "train/checkpoint/manifest.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "train/hash.h"

namespace skep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }
std::uint64_t from_hex(const std::string& text) { return std::stoull(text, nullptr, 16); }

std::uint64_t hash_text(const std::string& text) {
  return hash_bytes(std::as_bytes(std::span(text)));
}

std::string manifest_path(const std::string& checkpoint) { return checkpoint + "/manifest.json"; }

std::uint64_t size_of(const fs::path& file) {
  std::error_code missing;
  const std::uint64_t bytes = fs::file_size(file, missing);
  return missing ? 0 : bytes;
}

std::string find_damage(const fs::path& folder, const std::string& name, const Json& file) {
  if (!fs::exists(folder / name)) return name + " is missing";
  if (fs::file_size(folder / name) != file.at("bytes").get<std::uintmax_t>())
    return name + " has the wrong size";
  const MappedFile mapped((folder / name).string());
  std::span<const std::byte> rest = mapped.bytes();
  for (const Json& part : file.at("parts")) {
    const auto bytes = part.at("bytes").get<std::size_t>();
    if (bytes > rest.size()) return "its manifest.json is damaged";
    if (hex(hash_bytes(rest.first(bytes))) != part.at("xxh3").get<std::string>())
      return name + " is damaged";
    rest = rest.subspan(bytes);
  }
  return rest.empty() ? "" : "its manifest.json is damaged";
}

template <class Part>
void sort_parts(std::vector<Part>& parts) {
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::tie(a.file, a.begin) < std::tie(b.file, b.begin);
  });
}

Json describe_parts(const std::string& checkpoint, std::vector<WrittenPart> parts) {
  sort_parts(parts);
  Json files = Json::object();
  for (const WrittenPart& part : parts) {
    Json& file = files[part.file];
    if (file.is_null()) file = {{"bytes", 0}, {"parts", Json::array()}};
    check(file["bytes"].get<std::uint64_t>() == part.begin, "{}: the parts of {} do not join",
          checkpoint, part.file);
    file["bytes"] = part.begin + part.bytes;
    file["parts"].push_back({{"bytes", part.bytes}, {"xxh3", hex(part.xxh3)}});
  }
  return files;
}

Json describe_packed(const std::string& checkpoint, std::vector<PackedPart> parts) {
  sort_parts(parts);
  Json files = Json::object();
  std::uint64_t end = 0;
  for (const PackedPart& part : parts) {
    Json& file = files[part.file];
    if (file.is_null()) {
      file = {{"against", part.against}, {"parts", Json::array()}};
      end = 0;
    }
    check(part.begin == end, "{}: the parts of {} do not join", checkpoint, part.file);
    end += part.bytes;
    file["parts"].push_back({{"bytes", part.bytes},
                             {"xxh3", hex(part.xxh3)},
                             {"in", part.source},
                             {"at", part.at},
                             {"packed", part.packed_bytes}});
  }
  return files;
}

std::vector<PackedPart> packed_parts(const std::string& name, const Json& file) {
  std::vector<PackedPart> parts;
  std::uint64_t begin = 0;
  for (const Json& p : file.at("parts")) {
    parts.push_back({name, begin, p.at("bytes"), from_hex(p.at("xxh3")), file.at("against"),
                     p.at("in"), p.at("at"), p.at("packed")});
    begin += parts.back().bytes;
  }
  if (parts.empty()) throw std::invalid_argument("a file without parts");
  return parts;
}

}  // namespace

void WrittenFiles::append(WrittenFiles more) {
  std::move(more.parts.begin(), more.parts.end(), std::back_inserter(parts));
  std::move(more.packed.begin(), more.packed.end(), std::back_inserter(packed));
}

std::uint64_t WrittenFiles::bytes() const {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const WrittenPart& p) { return sum + p.bytes; });
}

std::string to_text(const WrittenFiles& files) {
  Json parts = Json::array(), packed = Json::array();
  for (const WrittenPart& p : files.parts) parts.push_back({p.file, p.begin, p.bytes, p.xxh3});
  for (const PackedPart& p : files.packed)
    packed.push_back({p.file, p.begin, p.bytes, p.xxh3, p.against, p.source, p.at, p.packed_bytes});
  return Json::array({parts, packed}).dump();
}

WrittenFiles written_files_from(const std::string& text) {
  const Json json = Json::parse(text);
  WrittenFiles files;
  for (const Json& p : json.at(0)) files.parts.push_back({p.at(0), p.at(1), p.at(2), p.at(3)});
  for (const Json& p : json.at(1))
    files.packed.push_back(
        {p.at(0), p.at(1), p.at(2), p.at(3), p.at(4), p.at(5), p.at(6), p.at(7)});
  return files;
}

std::uint64_t write_manifest(const std::string& checkpoint, std::int64_t step, WrittenFiles files,
                             const std::optional<Link>& previous) {
  Json json = {{"format", previous || !files.packed.empty() ? 3 : 2}, {"step", step}};
  if (previous)
    json["previous"] = {{"step", previous->step}, {"xxh3", hex(previous->manifest_xxh3)}};
  json["files"] = describe_parts(checkpoint, std::move(files.parts));
  if (!files.packed.empty())
    json["restores"] = describe_packed(checkpoint, std::move(files.packed));
  for (const auto& [name, file] : json["files"].items())
    if (size_of(fs::path(checkpoint) / name) != file["bytes"].get<std::uint64_t>())
      fail(ErrorKind::storage,
           "{}/{}: what other ranks wrote is not here: checkpoint.dir must be a folder that all "
           "ranks share",
           checkpoint, name);
  const std::string text = json.dump(2) + "\n";
  write_file(manifest_path(checkpoint), text);
  return hash_text(text);
}

std::string find_damage(const std::string& checkpoint, std::string_view below) {
  const fs::path folder(checkpoint);
  try {
    const Json manifest = Json::parse(read_file(manifest_path(checkpoint)), nullptr, false);
    if (!manifest.is_object() || !manifest.contains("files")) return "its manifest.json is damaged";
    for (const auto& [name, file] : manifest.at("files").items())
      if (name.starts_with(below))
        if (const std::string damage = find_damage(folder, name, file); !damage.empty())
          return damage;
  } catch (const Json::exception&) {
    return "its manifest.json is damaged";
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

RestorePlan read_restore_plan(const std::string& checkpoint) {
  const std::string path = manifest_path(checkpoint);
  try {
    const std::string text = read_file(path);
    const Json json = Json::parse(text);
    RestorePlan plan;
    plan.xxh3 = hash_text(text);
    if (const auto previous = json.find("previous"); previous != json.end())
      plan.previous = Link{previous->at("step"), from_hex(previous->at("xxh3"))};
    if (const auto restores = json.find("restores"); restores != json.end())
      for (const auto& [name, file] : restores->items())
        plan.packed[name] = packed_parts(name, file);
    return plan;
  } catch (const Error& error) {
    throw Error(ErrorKind::data, error.what());
  } catch (const std::exception&) {  // of the JSON reader, or of what is no number
    fail(ErrorKind::data, "{} is damaged", path);
  }
}

}  // namespace skep
