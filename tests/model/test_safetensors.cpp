// The safetensors header against every rejection and acceptance of the format (case ST-HEADER), and
// against damage.
#include "engine/core/error.h"
#include "engine/core/random.h"
#include "model/hf/safetensors_header.h"
#include "tests/model/safetensors_bytes.h"

using namespace skep;
using namespace std::string_literals;
using Catch::Matchers::Contains;

namespace {

/// The message with which the bytes are refused; fails the test if they are accepted.
std::string refusal(const std::string& bytes) {
  try {
    parse_safetensors(as_span(bytes), "weights.safetensors");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::data);
    const std::string message = error.what();
    CHECK(message.find('\n') == std::string::npos);
    CHECK(message.size() < 500);
    CHECK_THAT(message, Contains("weights.safetensors"));
    return message;
  }
  FAIL("accepted: " << bytes.substr(8, 300));
  return {};
}

SafetensorsHeader accepted(const std::string& header, std::size_t buffer_bytes) {
  // The spans point into a temporary; these tests look at sizes only.
  return parse_safetensors(as_span(file_of(header, buffer_bytes)), "weights.safetensors");
}

}  // namespace

TEST_CASE("safetensors: a header length that cannot be is refused before anything is read") {
  CHECK_THAT(refusal(""), Contains("too short"));
  CHECK_THAT(refusal(std::string(7, '\0')), Contains("too short"));
  CHECK_THAT(refusal(length_bytes(2) + "{"), Contains("cut short"));
  CHECK_THAT(refusal(length_bytes(100'000'001) + "{}"), Contains("limit is 100000000"));
  CHECK_THAT(refusal(length_bytes(100'000'000) + "{}"), Contains("cut short"));
  CHECK_THAT(refusal(length_bytes(~0ull) + "{}"), Contains("limit"));
  CHECK_THAT(refusal(length_bytes(~0ull - 7) + "{}"), Contains("limit"));  // N + 8 wraps to 0
}

TEST_CASE("safetensors: a header that is not a UTF-8 JSON object is refused") {
  for (const std::string header : {"",
                                   "    ",
                                   "[]",
                                   "null",
                                   "3",
                                   "\"{}\"",
                                   "{",
                                   "{}}",
                                   "{} {}",
                                   "{'a':1}",
                                   "{\"a\":}",
                                   "}{",
                                   "{\"a\"}",
                                   "{,}",
                                   "\xEF\xBB\xBF{}",
                                   "{\"\xFF\":1}",
                                   "{\"\xC0\x80\":1}",
                                   "{\"\xED\xA0\x80\":1}",
                                   "\xFF{}",
                                   "{\"a\n\":1}"}) {
    INFO(header);
    refusal(file_of(header, 0));
  }
  CHECK_THAT(refusal(file_of(std::string("{}\0\0\0\0\0\0", 8), 0)), Contains("NUL"));
  refusal(file_of("{" + std::string(1'000'000, '['), 0));
  refusal(file_of("{\"a\":{\"x\":" + std::string(1'000'000, '['), 0));  // deep, never recursive
}

TEST_CASE("safetensors: a malformed tensor entry is refused by name") {
  const auto refused = [](const std::string& members, const std::string& why) {
    INFO(members);
    const std::string message = refusal(file_of(header_of(members), 4));
    CHECK_THAT(message, Contains(why));
    CHECK_THAT(message, Contains("tensor \"w\""));
  };
  refused(entry("w", "F31", "[1]", "[0,4]"), "unknown dtype \"F31\"");
  refused(entry("w", "f32", "[1]", "[0,4]"), "unknown dtype");
  refused(entry("w", "", "[1]", "[0,4]"), "unknown dtype");
  refused(R"("w":{"dtype":32,"shape":[1],"data_offsets":[0,4]})", "dtype is a number");
  refused(R"("w":{"shape":[1],"data_offsets":[0,4]})", "dtype is missing");
  refused(R"("w":{"dtype":"F32","data_offsets":[0,4]})", "shape is missing");
  refused(R"("w":{"dtype":"F32","shape":[1]})", "data_offsets is missing");
  refused(R"("w":{})", "missing");
  refused(R"("w":null)", "null, not an object");
  refused(R"("w":[1])", "an array, not an object");
  refused(R"("w":"F32")", "a string, not an object");
  for (const std::string size : {"-1", "1.0", "1e0", "\"1\"", "null", "true", "[1]", "{}", "-0",
                                 "18446744073709551616", "9223372036854775808"}) {
    refused(entry("w", "F32", "[" + size + "]", "[0,4]"), size.size() > 18 ? "" : "shape holds");
  }
  for (const std::string offset : {"-4", "4.0", "\"4\"", "null", "[4]", "18446744073709551616"}) {
    refused(entry("w", "F32", "[1]", "[0," + offset + "]"), "data_offsets holds");
  }
  refused(entry("w", "F32", "1", "[0,4]"), "shape is a number");
  refused(entry("w", "F32", "{}", "[0,4]"), "shape is an object");
  refused(entry("w", "F32", "null", "[0,4]"), "shape is null");
  refused(entry("w", "F32", "[1]", "4"), "data_offsets is a number");
  refused(entry("w", "F32", "[1]", "[]"), "two numbers");
  refused(entry("w", "F32", "[1]", "[4]"), "two numbers");
  refused(entry("w", "F32", "[1]", "[0,4,4]"), "more than two");
  refused(R"("w":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]})",
          "dtype stands twice");
  refused(R"("w":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]})",
          "shape stands twice");
  refused(R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"data_offsets":[0,4]})",
          "data_offsets stands twice");
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  refused(entry("w", "F32", "[" + ones + "]", "[0,4]"), "more than 64 dimensions");
}

TEST_CASE("safetensors: sizes that overflow are refused, whatever the order of dimensions") {
  const std::string big = "9223372036854775807";
  for (const std::string& shape : std::vector<std::string>{
           big, big + "," + big, "4611686018427387904,4", "2305843009213693952,2,4",
           "0," + big + "," + big, big + "," + big + ",0", "4294967296,4294967296"}) {
    CHECK_THAT(refusal(file_of(header_of(entry("w", "F32", "[" + shape + "]", "[0,0]")), 0)),
               Contains("overflows") && Contains("\"w\""));
  }
  // 2^62 F32 elements: 2^67 bits wrap to a multiple of 2^64, that is to 0 bytes, if unchecked.
  CHECK_FALSE(array_bytes(std::vector<std::int64_t>{1ll << 62}, StoredType::f32));
  CHECK(array_bytes(std::vector<std::int64_t>{64, 1024, 50257}, StoredType::f32) == 13174571008ull);
}

TEST_CASE("safetensors: the data buffer must be tiled without overlap, hole or remainder") {
  const auto a = [](const char* offsets) { return entry("a", "F32", "[1]", offsets); };
  const auto b = [](const char* offsets) { return entry("b", "F32", "[1]", offsets); };
  const auto message = [](const std::string& first, const std::string& second, std::size_t bytes) {
    return refusal(file_of(header_of(first, second), bytes));
  };
  CHECK_THAT(message(a("[0,4]"), b("[2,6]"), 6), Contains("\"b\"") && Contains("overlap"));
  CHECK_THAT(message(a("[0,4]"), b("[0,4]"), 4), Contains("overlap"));
  CHECK_THAT(message(a("[0,4]"), b("[5,9]"), 9), Contains("\"b\"") && Contains("hole"));
  CHECK_THAT(message(b("[5,9]"), a("[0,4]"), 9), Contains("\"b\"") && Contains("hole"));
  CHECK_THAT(message(a("[4,8]"), b("[8,12]"), 12), Contains("\"a\"") && Contains("hole"));
  CHECK_THAT(message(a("[0,4]"), b("[4,0]"), 4), Contains("\"b\"") && Contains("before it starts"));
  CHECK_THAT(message(a("[0,4]"), b("[4,9]"), 9), Contains("\"b\"") && Contains("takes 4"));
  CHECK_THAT(message(a("[0,4]"), b("[4,7]"), 7), Contains("\"b\"") && Contains("takes 4"));
  CHECK_THAT(message(a("[0,4]"), b("[4,8]"), 7), Contains("\"b\"") && Contains("cut short"));
  CHECK_THAT(message(a("[0,4]"), b("[4,8]"), 9), Contains("1 bytes follow the last tensor"));
  CHECK_THAT(message(a("[0,4]"), b("[4,18446744073709551615]"), 8), Contains("\"b\""));
  CHECK_THAT(refusal(file_of("{}", 1)), Contains("follow"));
  CHECK(accepted(header_of(b("[4,8]"), a("[0,4]")), 8).tensors.size() == 2);
}

TEST_CASE("safetensors: names that stand twice are refused") {
  const std::string twice =
      entry("a", "F32", "[1]", "[0,4]") + "," + entry("a", "F32", "[1]", "[4,8]");
  CHECK_THAT(refusal(file_of(header_of(twice), 8)), Contains("tensor \"a\" stands twice"));
  const std::string escaped =
      entry("a", "U8", "[1]", "[0,1]") + "," + entry("\\u0061", "U8", "[1]", "[1,2]");
  CHECK_THAT(refusal(file_of(header_of(escaped), 2)), Contains("tensor \"a\" stands twice"));
}

TEST_CASE("safetensors: metadata maps strings to strings only") {
  const auto refused = [](const std::string& value) {
    CHECK_THAT(refusal(file_of("{\"__metadata__\":" + value + "}", 0)), Contains("__metadata__"));
  };
  for (const char* value : {"1", "null", "[]", "\"x\"", "{\"k\":1}", "{\"k\":null}", "{\"k\":[]}",
                            "{\"k\":{}}", "{\"k\":\"1\",\"k\":\"2\"}", "{},\"__metadata__\":{}"}) {
    refused(value);
  }
  CHECK(accepted(R"({"__metadata__":{}})", 0).metadata.empty());
  CHECK(accepted(R"({"__metadata__":{"format":"pt"}})", 0).metadata == Metadata{{"format", "pt"}});
}

TEST_CASE("safetensors: names in messages stay on one line") {
  const std::string name = "a\\nb\\u001b[2J" + std::string(5000, 'x');
  CHECK_THAT(refusal(file_of(header_of(entry(name, "F3", "[]", "[0,4]")), 4)), Contains("a\\nb"));
}

TEST_CASE("safetensors: what the format allows is accepted") {
  CHECK(accepted("{}", 0).tensors.empty());
  CHECK(accepted("{}      ", 0).tensors.empty());
  CHECK(accepted(" \t\r\n{}", 0).tensors.empty());

  const auto scalar = accepted(header_of(entry("s", "F32", "[]", "[0,4]")), 4).tensors.at(0);
  CHECK(scalar.shape.empty());
  CHECK(scalar.data.size() == 4);

  const auto empty = accepted(header_of(entry("e", "F32", "[0]", "[0,0]")), 0).tensors.at(0);
  CHECK(empty.shape == std::vector<std::int64_t>{0});
  CHECK(empty.data.empty());

  const auto mixed =
      accepted(header_of(entry("z", "BF16", "[3]", "[4,10]"), entry("e", "I64", "[7,0,2]", "[4,4]"),
                         entry("a", "F32", "[]", "[0,4]")),
               10);
  REQUIRE(mixed.tensors.size() == 3);
  CHECK(mixed.tensors[0].name == "a");  // ordered by name, whatever the order in the file
  CHECK(mixed.tensors[1].name == "e");
  CHECK(mixed.tensors[2].data.size() == 6);

  const auto extra = accepted(
      R"({"w":{"note":{"a":[1,{"b":null}]},"dtype":"U8","x":-1.5,"shape":[1],"data_offsets":[0,1]}})",
      1);
  CHECK(extra.tensors.at(0).type == StoredType::u8);
  CHECK(accepted(header_of(entry("\\u65e5", "U8", "[1]", "[0,1]")), 1).tensors.at(0).name == "日");
}

TEST_CASE("safetensors: every dtype has its size") {
  const std::map<std::string, std::size_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
  for (const auto& [name, bytes] : sizes) {
    const auto type = find_stored_type(name);
    REQUIRE(type);
    CHECK(stored_type_name(*type) == name);
    CHECK(stored_type_bytes(*type) == bytes);
    const std::string header =
        header_of(entry("w", name, "[3]", "[0," + std::to_string(3 * bytes) + "]"));
    CHECK(accepted(header, 3 * bytes).tensors.at(0).type == *type);
  }
}

TEST_CASE("safetensors: twenty thousand damaged headers are accepted or refused, never worse") {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},)" + entry("h.0.w", "F32", "[2,3]", "[0,24]") + "," +
      entry("h.0.b", "BF16", "[5]", "[24,34]") + "," + entry("s", "I64", "[]", "[34,42]") + "," +
      entry("e", "U8", "[0]", "[42,42]") + "}  ";
  const std::string valid = file_of(header, 42);
  REQUIRE(parse_safetensors(as_span(valid), "valid").tensors.size() == 4);
  const std::string alphabet = "{}[]\",:0123456789-.eEntuF \\\n\x00\x7f\x80\xc3\xff"s;
  const std::uint64_t key = derive_key(7, "safetensors mutations");
  int refusals = 0;
  std::uint64_t draw = 0;
  const auto below = [&](std::uint64_t bound) { return random_bits(key, draw++) % bound; };
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = valid;
    for (std::uint64_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = below(10) == 0 ? below(8) : 8 + below(header.size());
      switch (below(4)) {
        case 0:
          damaged[at] = alphabet[below(alphabet.size())];
          break;
        case 1:
          damaged[at] = static_cast<char>(damaged[at] ^ (1 << below(8)));
          break;
        case 2:
          damaged.erase(at, 1 + below(4));
          break;
        default:
          damaged.insert(at, damaged.substr(8 + below(header.size()), 1 + below(40)));
      }
    }
    try {
      for (const StoredTensor& tensor : parse_safetensors(as_span(damaged), "damaged").tensors) {
        const auto* end = tensor.data.data() + tensor.data.size();
        REQUIRE(end <= as_span(damaged).data() + damaged.size());
        REQUIRE(array_bytes(tensor.shape, tensor.type) == tensor.data.size());
      }
    } catch (const Error& error) {
      REQUIRE(error.kind() == ErrorKind::data);
      ++refusals;
    }
  }
  CHECK(refusals > 15'000);
  CHECK(refusals < 20'000);  // a changed name, for one, is still a valid file
}
