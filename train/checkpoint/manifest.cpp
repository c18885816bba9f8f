#include "train/checkpoint/manifest.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "train/hash.h"

namespace skep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

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

}  // namespace

std::string to_text(const std::vector<WrittenPart>& parts) {
  Json list = Json::array();
  for (const WrittenPart& p : parts) list.push_back({p.file, p.begin, p.bytes, p.xxh3});
  return list.dump();
}

std::vector<WrittenPart> parts_from(const std::string& text) {
  std::vector<WrittenPart> parts;
  for (const Json& p : Json::parse(text)) parts.push_back({p.at(0), p.at(1), p.at(2), p.at(3)});
  return parts;
}

void write_manifest(const std::string& checkpoint, std::int64_t step,
                    std::vector<WrittenPart> parts) {
  std::sort(parts.begin(), parts.end(), [](const WrittenPart& a, const WrittenPart& b) {
    return std::tie(a.file, a.begin) < std::tie(b.file, b.begin);
  });
  Json files = Json::object();
  for (const WrittenPart& part : parts) {
    Json& file = files[part.file];
    if (file.is_null()) file = {{"bytes", 0}, {"parts", Json::array()}};
    check(file["bytes"].get<std::uint64_t>() == part.begin, "{}: the parts of {} do not join",
          checkpoint, part.file);
    file["bytes"] = part.begin + part.bytes;
    file["parts"].push_back({{"bytes", part.bytes}, {"xxh3", hex(part.xxh3)}});
  }
  for (const auto& [name, file] : files.items())
    if (size_of(fs::path(checkpoint) / name) != file["bytes"].get<std::uint64_t>())
      fail(ErrorKind::storage,
           "{}/{}: what other ranks wrote is not here: checkpoint.dir must be a folder that all "
           "ranks share",
           checkpoint, name);
  const Json manifest = {{"format", 2}, {"step", step}, {"files", files}};
  write_file(checkpoint + "/manifest.json", manifest.dump(2) + "\n");
}

std::string find_damage(const std::string& checkpoint) {
  const fs::path folder(checkpoint);
  try {
    const Json manifest =
        Json::parse(read_file((folder / "manifest.json").string()), nullptr, false);
    if (!manifest.is_object() || !manifest.contains("files")) return "its manifest.json is damaged";
    for (const auto& [name, file] : manifest.at("files").items())
      if (const std::string damage = find_damage(folder, name, file); !damage.empty())
        return damage;
  } catch (const Json::exception&) {
    return "its manifest.json is damaged";
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace skep
