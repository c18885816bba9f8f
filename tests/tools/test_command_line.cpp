// Flags, nearest names, ids as text.
#include "tests/train/helpers.h"
#include "tools/common/command_line.h"
#include "tools/common/token_ids.h"

using namespace skep;

TEST_CASE("command line: the nearest name") {
  const std::vector<std::string> names = {"--tokens", "--top-k", "--top-p", "--temperature"};
  CHECK(nearest_name("--token", names) == "--tokens");
  CHECK(nearest_name("--topk", names) == "--top-k");
  CHECK(nearest_name("--topp", names) == "--top-p");
  CHECK(nearest_name("--temp", names) == "--temperature");
  CHECK(nearest_name("--temprature", names) == "--temperature");
  CHECK(nearest_name("--penalty", names) == "");
  CHECK(nearest_name("-x", names) == "");
}

TEST_CASE("command line: values, help, and what no flag took") {
  const auto flags = make_flags("tool", "Does it.");
  std::int64_t number = 3;
  double fraction = 0.5;
  std::string text;
  add_number(*flags, "--number", "N", number, "how many");
  add_number(*flags, "--fraction", "X", fraction, "how much");
  flags->add_option("--text", text, "what")->required();
  CHECK(parse(*flags, {"--number", "-4", "--text", "-x"}).empty());
  CHECK(number == -4);
  CHECK(text == "-x");
  CHECK(parse(*flags, {"--number", "010", "--fraction", "1e-3", "--text", "t"}).empty());
  CHECK(number == 10);
  CHECK(fraction == 0.001);
  CHECK(parse(*flags, {"--text=--number"}).empty());
  CHECK(text == "--number");
  CHECK_THAT(parse(*flags, {"--help"}),
             Catch::Contains("Does it.") && Catch::Contains("how many") && Catch::Contains("N=3"));
  Arguments rest;
  CHECK(parse_known(*flags, {"--a.b", "1", "--text", "t", "--c.d=2"}, rest).empty());
  CHECK(rest == Arguments{"--a.b", "1", "--c.d=2"});
  const auto refused = [&](const Arguments& arguments) {
    return error_of(ErrorKind::usage, [&] { parse(*flags, arguments); });
  };
  CHECK_THAT(refused({"--numer", "4"}), Catch::Contains("--numer; did you mean --number?"));
  CHECK_THAT(refused({"--text", "t", "--number"}), Catch::Contains("--number"));
  CHECK_THAT(refused({"--text", "--number", "4"}), Catch::Contains("--text needs a value"));
  for (const char* wrong : {"4x", "1.5", "0x10", "", "99999999999999999999"})
    CHECK_THAT(refused({"--text", "t", "--number", wrong}), Catch::Contains("--number"));
  CHECK_THAT(refused({}), Catch::Contains("--text"));
  CHECK_THAT(refused({"--text", "t", "surplus"}), Catch::Contains("surplus"));
}

TEST_CASE("ids as text: read with commas or white space, printed with spaces") {
  using Ids = std::vector<std::int32_t>;
  CHECK(parse_ids("1,2,3", "x") == Ids{1, 2, 3});
  CHECK(parse_ids(" 1 2\n\t3 ,  4", "x") == Ids{1, 2, 3, 4});
  CHECK(parse_ids("", "x").empty());
  CHECK(format_ids(Ids{7, 0, 65535}) == "7 0 65535");
  for (const char* wrong : {"1,a", "1 2.5", "1 99999999999", "1 0x2", "1 -", "1,,2", "1,", "1 , "})
    CHECK_THAT(error_of(ErrorKind::usage, [&] { parse_ids(wrong, "list"); }),
               Catch::StartsWith("list: ") && Catch::Contains("at position 1"));
}
