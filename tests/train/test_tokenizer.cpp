#include <rapidcheck.h>

#include <rapidcheck/catch.h>
#include <nlohmann/json.hpp>

#include "engine/core/files.h"
#include "tests/train/helpers.h"
#include "train/data/byte_tokenizer.h"
#include "train/data/char_tokenizer.h"
#include "train/data/utf8.h"

using namespace skep;
using Catch::Contains;
using Ids = std::vector<std::int32_t>;

namespace {

std::string load_error(const std::string& json) {
  const TemporaryFolder folder;
  const std::string path = folder.file("tokenizer.json", json);
  const std::string message = error_of(ErrorKind::data, [&] { load_tokenizer(path); });
  CHECK(message.starts_with(path + ": "));
  return message.substr(path.size() + 2);
}

/// The tokenizer.json of a small character vocabulary after a change.
template <class Change>
std::string changed(Change&& change) {
  auto json = nlohmann::json::parse(CharTokenizer::from_text("abc").to_json());
  change(json);
  return json.dump();
}

}  // namespace

TEST_CASE("utf8: accepts the ends of each length, refuses what RFC 3629 refuses") {
  const auto value = [](const std::string& text) {
    const auto point = decode_utf8(text, 0);
    return point && static_cast<std::size_t>(point->length_bytes) == text.size()
               ? static_cast<std::int64_t>(point->value)
               : -1;
  };
  CHECK(value(std::string(1, '\0')) == 0);
  CHECK(value("\x7F") == 0x7F);
  CHECK(value("\xC2\x80") == 0x80);
  CHECK(value("\xDF\xBF") == 0x7FF);
  CHECK(value("\xE0\xA0\x80") == 0x800);
  CHECK(value("\xED\x9F\xBF") == 0xD7FF);
  CHECK(value("\xEF\xBF\xBF") == 0xFFFF);
  CHECK(value("\xF0\x90\x80\x80") == 0x10000);
  CHECK(value("\xF4\x8F\xBF\xBF") == 0x10FFFF);
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                          "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF",
                          "\xC2", "\xE2\x82", "\xE2\x28\xA1", "\xC2\x41"}) {
    INFO(bad);
    CHECK(value(bad) == -1);
    CHECK(find_invalid_utf8(std::string("ok") + bad) == 2u);
  }
  for (char32_t point = 0; point < 0x110000; point += 37) {
    if (point >= 0xD800 && point < 0xE000) continue;
    std::string text;
    append_utf8(text, point);
    REQUIRE(value(text) == static_cast<std::int64_t>(point));
  }
}

TEST_CASE("byte tokenizer: the id is the byte, any bytes round-trip") {
  const ByteTokenizer tokenizer;
  CHECK(tokenizer.vocab_size() == 256);
  CHECK(tokenizer.encode("日") == Ids{230, 151, 165});
  rc::prop("decode(encode(x)) == x", [&](const std::string& text) {
    RC_ASSERT(tokenizer.decode(tokenizer.encode(text)) == text);
  });
  CHECK_THAT(error_of(ErrorKind::data, [&] { tokenizer.decode(Ids{256}); }),
             Contains("token id 256 is outside the vocabulary of 256"));
  CHECK_THAT(error_of(ErrorKind::data, [&] { tokenizer.decode(Ids{-1}); }), Contains("-1"));
}

TEST_CASE("byte tokenizer: GPT-2's characters for bytes") {
  // From GPT-2's vocabulary: space is Ġ, newline is Ċ, tab is ĉ; byte 0 is Ā, 0xAD is Ń.
  CHECK(printable_character(' ') == U'Ġ');
  CHECK(printable_character('\n') == U'Ċ');
  CHECK(printable_character('\t') == U'ĉ');
  CHECK(printable_character(0) == U'Ā');
  CHECK(printable_character(0x7F) == U'ġ');
  CHECK(printable_character(0xAD) == U'Ń');
  CHECK(printable_character('!') == U'!');
  CHECK(printable_character(0xFF) == U'ÿ');
}

TEST_CASE("char tokenizer: code points in order, as nanoGPT sorts them") {
  const CharTokenizer tokenizer = CharTokenizer::from_text("hello wörld 日😀\n");
  CHECK(tokenizer.vocab_size() == 12);
  // sorted(set(...)) in Python: '\n' ' ' 'd' 'e' 'h' 'l' 'o' 'r' 'w' 'ö' '日' '😀'
  CHECK(tokenizer.encode("\n dehlorwö日😀") == Ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(tokenizer.decode(Ids{11, 10, 4}) == "😀日h");
}

TEST_CASE("char tokenizer: refuses what it cannot express, with the offset") {
  CHECK(error_of(ErrorKind::data, [] { CharTokenizer::from_text("ab\xFFz"); }) ==
        "not UTF-8 at byte 2 (0xFF): convert the text, or use the tokenizer byte");
  const CharTokenizer tokenizer = CharTokenizer::from_text("ab");
  CHECK(error_of(ErrorKind::data, [&] { tokenizer.encode("abé"); }) ==
        "character U+00E9 at byte 2 is not among the 2 characters of the tokenizer");
  CHECK_THAT(error_of(ErrorKind::data, [&] { tokenizer.encode("a\xC3"); }), Contains("byte 1"));
  CHECK_THAT(error_of(ErrorKind::data, [] { CharTokenizer::from_text(""); }), Contains("empty"));
}

TEST_CASE("tokenizers: hashes tell vocabularies apart") {
  const auto hash = [](const char* text) { return CharTokenizer::from_text(text).hash(); };
  CHECK(hash("abc") == hash("cbacba"));
  CHECK(hash("abc") != hash("abd"));
  CHECK(hash("abc") != ByteTokenizer().hash());
}

TEST_CASE("tokenizers: saved and loaded, they give the same ids") {
  const TemporaryFolder folder;
  const std::string text = "a \"quoted\\\" line\n日😀\t\x01\x7F";
  const CharTokenizer characters = CharTokenizer::from_text(text);
  const ByteTokenizer bytes;
  for (const Tokenizer* saved :
       {static_cast<const Tokenizer*>(&characters), static_cast<const Tokenizer*>(&bytes)}) {
    saved->save(folder.path());
    for (const std::string& path : {folder.path(), folder / "tokenizer.json"}) {
      const auto loaded = load_tokenizer(path);
      CHECK(loaded->name() == saved->name());
      CHECK(loaded->vocab_size() == saved->vocab_size());
      CHECK(loaded->hash() == saved->hash());
      CHECK(loaded->encode(text) == saved->encode(text));
      CHECK(loaded->decode(saved->encode(text)) == text);
    }
  }
}

TEST_CASE("char tokenizer: its tokenizer.json says what Hugging Face needs") {
  const auto json = nlohmann::json::parse(CharTokenizer::from_text("ba").to_json());
  CHECK(json["version"] == "1.0");
  CHECK(json["model"]["type"] == "WordLevel");
  CHECK(json["model"]["vocab"] == nlohmann::json{{"a", 0}, {"b", 1}});
  CHECK(json["model"]["unk_token"].is_string());
  CHECK(json["pre_tokenizer"]["type"] == "Split");
  CHECK(json["pre_tokenizer"]["behavior"] == "Isolated");
  CHECK(json["decoder"]["type"] == "Fuse");
  for (const char* part : {"truncation", "padding", "normalizer", "post_processor"})
    CHECK(json.at(part).is_null());
}

TEST_CASE("byte tokenizer: its tokenizer.json is byte-level BPE without merges") {
  const auto json = nlohmann::json::parse(ByteTokenizer().to_json());
  CHECK(json["model"]["type"] == "BPE");
  CHECK(json["model"]["merges"].empty());
  CHECK(json["model"]["vocab"].size() == 256);
  CHECK(json["model"]["vocab"]["Ġ"] == 32);
  CHECK(json["model"]["vocab"]["A"] == 65);
  CHECK(json["pre_tokenizer"]["type"] == "ByteLevel");
  CHECK(json["pre_tokenizer"]["add_prefix_space"] == false);
  CHECK(json["decoder"]["type"] == "ByteLevel");
}

TEST_CASE("load_tokenizer: unknown kinds are refused by name") {
  const std::string not_supported =
      "is not supported: use byte-level BPE without merges (byte) or "
      "WordLevel over single characters (char)";
  CHECK_THAT(load_error(R"({"model":{"type":"Unigram","vocab":[]}})"),
             Contains("a tokenizer of the kind Unigram " + not_supported));
  CHECK_THAT(load_error(R"({"pre_tokenizer":{"type":"ByteLevel"},
                            "model":{"type":"BPE","vocab":{},"merges":["a b"]}})"),
             Contains("a tokenizer of the kind BPE " + not_supported));
  CHECK_THAT(load_error(R"({"pre_tokenizer":{"type":"Whitespace"},
                            "model":{"type":"WordLevel","vocab":{"a":0}}})"),
             Contains("a tokenizer of the kind WordLevel " + not_supported));
}

TEST_CASE("load_tokenizer: damaged files are refused") {
  CHECK_THAT(load_error(""), Contains("not a usable tokenizer.json"));
  CHECK_THAT(load_error("{\"model\":"), Contains("not a usable tokenizer.json"));
  CHECK_THAT(load_error("[]"), Contains("it has no object \"model\""));
  CHECK_THAT(load_error("{\"model\":{}}"), Contains("names no \"type\""));
  CHECK_THAT(load_error(changed([](auto& json) { json["model"]["vocab"]["a"] = 1; })),
             Contains("is repeated or not an integer from 0 to 2"));
  CHECK_THAT(load_error(changed([](auto& json) { json["model"]["vocab"]["a"] = 3; })),
             Contains("is repeated or not an integer from 0 to 2"));
  CHECK_THAT(load_error(changed([](auto& json) { json["model"]["vocab"]["a"] = -1; })),
             Contains("the id of U+0061"));
  CHECK_THAT(load_error(changed([](auto& json) {
               json["model"]["vocab"] = {{"ab", 0}};
             })),
             Contains("entry \"ab\" is not a single character"));
  CHECK_THAT(
      load_error(changed([](auto& json) { json["model"]["vocab"] = nlohmann::json::object(); })),
      Contains("empty"));
  CHECK_THAT(load_error(changed([](auto& json) {
               json["normalizer"] = {{"type", "NFC"}};
             })),
             Contains("normalizer NFC is not supported"));
  CHECK_THAT(load_error(changed([](auto& json) {
               json["added_tokens"] = {{{"id", 3}}};
             })),
             Contains("added_tokens are not supported"));
  CHECK_THAT(
      load_error(changed([](auto& json) { json["pre_tokenizer"]["pattern"]["Regex"] = "x"; })),
      Contains("only character-level WordLevel"));
  auto bytes = nlohmann::json::parse(ByteTokenizer().to_json());
  std::swap(bytes["model"]["vocab"]["A"], bytes["model"]["vocab"]["B"]);
  CHECK_THAT(load_error(bytes.dump()), Contains("byte 65 does not have the id 65"));
}

TEST_CASE("load_tokenizer: deep nesting and random damage never crash") {
  load_error(std::string(200'000, '['));
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  load_error("{\"model\":" + deep + "}");
  load_error(R"({"pre_tokenizer":{"type":"Split","pattern":{"Regex":"[\\s\\S]"},)"
             R"("behavior":"Isolated"},"model":{"type":"WordLevel","vocab":{"a":)" +
             deep + "}}}");
  const TemporaryFolder folder;
  const std::string sources[] = {CharTokenizer::from_text("ab\n日").to_json(),
                                 ByteTokenizer().to_json()};
  rc::prop("changed bytes", [&] {
    std::string json = sources[*rc::gen::inRange(0, 2)];
    for (int change = *rc::gen::inRange(1, 4); change > 0; --change) {
      const auto at = *rc::gen::inRange<std::size_t>(0, json.size());
      if (*rc::gen::arbitrary<bool>()) json.resize(at + 1);
      json[at] = *rc::gen::arbitrary<char>();
    }
    const std::string path = folder.file("tokenizer.json", json);
    try {
      const auto tokenizer = load_tokenizer(path);
      RC_ASSERT(tokenizer->vocab_size() > 0);
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == ErrorKind::data);
      RC_ASSERT(std::string(error.what()).find('\n') == std::string::npos);
    }
  });
}
