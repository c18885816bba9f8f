// safetensors files on disk: golden bytes, round trips, failing writes, sharded folders.
#include <sys/resource.h>

#include <csignal>
#include <cstring>

#include "engine/core/error.h"
#include "model/hf/safetensors_index.h"
#include "tests/model/safetensors_bytes.h"

using namespace skep;
using Catch::Matchers::Contains;

TEST_CASE("safetensors: golden bytes") {
  const TemporaryFolder folder;
  write_safetensors(folder.path / "empty", {});
  CHECK(read_bytes(folder.path / "empty") == std::string("\x08\0\0\0\0\0\0\0{}      ", 16));

  // Largest elements first, then by name; 232 header bytes after padding.
  const std::string four("\0\0\x80?", 4), two("\x80?", 2), eight("\0\0\0\0\0\0\xf0?", 8);
  write_safetensors(folder.path / "three",
                    {{"h", StoredType::bf16, {1, 1}, as_span(two)},
                     {"b", StoredType::f32, {}, as_span(four)},
                     {"a", StoredType::f32, {1}, as_span(four)},
                     {"q\"", StoredType::f64, {1}, as_span(eight)}},
                    {{"format", "pt"}});
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"q\"":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
      R"("a":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},)"
      R"("b":{"dtype":"F32","shape":[],"data_offsets":[12,16]},)"
      R"("h":{"dtype":"BF16","shape":[1,1],"data_offsets":[16,18]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  CHECK(read_bytes(folder.path / "three") ==
        length_bytes(padded.size()) + padded + eight + four + four + two);
}

TEST_CASE("safetensors: what is written is read back") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "model.safetensors";
  const std::string bytes = "0123456789abcdefghijklmn", none;
  const Metadata metadata = {{"format", "pt"}, {"日本", "line\nbreak \"quoted\""}};
  write_safetensors(path,
                    {{"wte.weight", StoredType::f32, {2, 3}, as_span(bytes)},
                     {"flags", StoredType::boolean, {24}, as_span(bytes)},
                     {"scalar", StoredType::f64, {}, as_span(bytes).first(8)},
                     {"empty", StoredType::i64, {3, 0}, as_span(none)}},
                    metadata);
  const auto file = SafetensorsFile::open(path);
  CHECK(file.metadata() == metadata);
  CHECK(file.path() == path);
  REQUIRE(file.tensors().size() == 4);
  const StoredTensor* weight = file.find("wte.weight");
  REQUIRE(weight);
  CHECK(weight->type == StoredType::f32);
  CHECK(weight->shape == std::vector<std::int64_t>{2, 3});
  CHECK(std::memcmp(weight->data.data(), bytes.data(), 24) == 0);
  CHECK(file.find("scalar")->shape.empty());
  CHECK(std::memcmp(file.find("scalar")->data.data(), bytes.data(), 8) == 0);
  CHECK(file.find("empty")->data.empty());
  CHECK(file.find("wte") == nullptr);
  CHECK(file.find("zzz") == nullptr);

  write_safetensors(folder.path / "again", file.tensors(), file.metadata());
  CHECK(read_bytes(folder.path / "again") == read_bytes(path));

  const std::string whole = read_bytes(path);
  write_bytes(path, whole.substr(0, whole.size() - 1));
  CHECK_THROWS_WITH(SafetensorsFile::open(path),
                    Contains(path.string()) && Contains("\"flags\"") && Contains("cut short"));
}

TEST_CASE("safetensors: a path that is no file is refused") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(SafetensorsFile::open(folder.path), Contains("it is a directory"));
  CHECK_THROWS_WITH(SafetensorsFile::open(folder.path / "none"), Contains("No such file"));
  write_bytes(folder.path / "empty", "");
  CHECK_THROWS_WITH(SafetensorsFile::open(folder.path / "empty"), Contains("too short"));
}

TEST_CASE("safetensors: a failed write says so and leaves the old file") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "model.safetensors";
  write_safetensors(path, {}, {{"version", "old"}});
  const std::string old = read_bytes(path), bytes(4096, 'x');
  const std::vector<StoredTensor> tensors = {{"w", StoredType::u8, {4096}, as_span(bytes)}};
  const auto kind_of_failure = [&](const fs::path& target) {
    try {
      write_safetensors(target, tensors);
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Contains(target.string()));
      return error.kind();
    }
    FAIL("written: " << target);
    return ErrorKind::bug;
  };

  rlimit limit = {};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const rlimit small = {1000, limit.rlim_max};  // the disk is "full" after 1000 bytes
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const ErrorKind kind = kind_of_failure(path);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(kind == ErrorKind::storage);
  CHECK(read_bytes(path) == old);

  CHECK(kind_of_failure(folder.path / "no folder" / "w") == ErrorKind::storage);
  fs::create_directory(folder.path / "taken");
  CHECK(kind_of_failure(folder.path / "taken") == ErrorKind::storage);
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 2);  // no temporary file is left
  write_safetensors(path, tensors);
  CHECK(SafetensorsFile::open(path).tensors().size() == 1);
}

TEST_CASE("safetensors: contradictory tensors are not written") {
  const TemporaryFolder folder;
  const std::string bytes(8, 'x');
  const auto refused = [&](std::vector<StoredTensor> tensors) {
    try {
      write_safetensors(folder.path / "w", std::move(tensors));
    } catch (const Error& error) {
      return error.kind() == ErrorKind::bug && fs::is_empty(folder.path);
    }
    return false;
  };
  CHECK(refused({{"w", StoredType::f32, {3}, as_span(bytes)}}));
  CHECK(refused({{"w", StoredType::f32, {-1, -2}, as_span(bytes)}}));
  CHECK(refused({{"__metadata__", StoredType::f32, {2}, as_span(bytes)}}));
  CHECK(refused({{"\xFF", StoredType::f32, {2}, as_span(bytes)}}));
  CHECK(refused(
      {{"w", StoredType::f32, {2}, as_span(bytes)}, {"w", StoredType::f64, {}, as_span(bytes)}}));
}

TEST_CASE("safetensors: a folder is read from one file or from its shards") {
  const TemporaryFolder folder;
  const fs::path index = folder.path / "model.safetensors.index.json";
  const std::string one(4, '1'), two(4, '2');
  const auto open = [&] { return SafetensorsFolder::open(folder.path); };
  const auto write_index = [&](const std::string& map) {
    write_bytes(index, R"({"metadata":{"total_size":8},"weight_map":)" + map + "}");
  };
  CHECK_THROWS_WITH(open(), Contains("neither"));

  write_safetensors(folder.path / "s1.safetensors", {{"a", StoredType::f32, {1}, as_span(one)}});
  write_safetensors(folder.path / "s2.safetensors", {{"b", StoredType::f32, {1}, as_span(two)}});
  write_index(R"({"a":"s1.safetensors","b":"s2.safetensors"})");
  const auto sharded = open();
  REQUIRE(sharded.tensors().size() == 2);
  CHECK(std::memcmp(sharded.find("a")->data.data(), one.data(), 4) == 0);
  CHECK(std::memcmp(sharded.find("b")->data.data(), two.data(), 4) == 0);
  CHECK(sharded.find("c") == nullptr);

  write_index(R"({"a":"s1.safetensors","b":"s3.safetensors"})");
  CHECK_THROWS_WITH(open(), Contains("shard \"s3.safetensors\" of tensor \"b\" is missing"));
  write_index(R"({"a":"s1.safetensors","b":"s1.safetensors"})");
  CHECK_THROWS_WITH(open(), Contains("tensor \"b\" is not in its shard \"s1.safetensors\""));
  write_index(R"({"a":"s1.safetensors","a":"s2.safetensors"})");
  CHECK_THROWS_WITH(open(), Contains("tensor \"a\" stands twice"));
  for (const char* shard :
       {"\"../s1.safetensors\"", "\"/etc/passwd\"", "\"..\"", "\"\"", "1", "null"}) {
    write_index(std::string("{\"a\":") + shard + "}");
    CHECK_THROWS_WITH(open(), Contains("not the name of a file"));
  }
  for (const char* text :
       {"", "{", "[]", "3", "{}", R"({"weight_map":[]})", R"({"weight_map":"x"})"}) {
    write_bytes(index, text);
    CHECK_THROWS_AS(open(), Error);
  }

  write_safetensors(folder.path / "model.safetensors", {{"c", StoredType::f32, {1}, as_span(one)}});
  const auto single = open();
  CHECK(single.tensors().size() == 1);
  CHECK(single.find("c") != nullptr);
}
