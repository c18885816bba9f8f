// What a newcomer to generate, evaluate and tokenize gets wrong: as in test_errors.cpp.
#include <catch2/catch.hpp>

#include "mistakes.h"

using namespace skep::test;

TEST_CASE("mistakes: a model's folder", "[mistakes]") {
  const std::string copy = "cp -r run/ckpt/step-2/model model; ";
  const std::string generate = "generate --model model --prompt-ids 1,2 --tokens 2 ";
  const std::string evaluate = "evaluate --model model --data text.txt ";
  const auto edited = [&](const std::string& from, const std::string& to) {
    return copy + "sed -i 's/" + from + "/" + to + "/' model/config.json";
  };
  std::vector<Mistake> rows;
  const auto both = [&](const std::string& name, const std::string& setup,
                        const std::string& says) {
    rows.push_back({name, setup, generate, 3, says});
    rows.push_back({name, setup, evaluate, 3, says});
  };
  both("no folder", "", "model: no model here");
  both("no config.json", copy + "rm model/config.json", "model: no model here");
  both("an empty config.json", copy + ": >model/config.json", "model/config.json: not a JSON");
  both("no weights", copy + "rm model/model.safetensors", "model: holds neither model.safetensors");
  both("weights cut off", copy + "truncate -s -4 model/model.safetensors", "the file is cut short");
  both("more layers than weights", edited("\"n_layer\": 1", "\"n_layer\": 2000000000"),
       "config.json says n_layer 2000000000, the weights have 1 blocks");
  both("another width", edited("\"n_embd\": 32", "\"n_embd\": 64"), "has shape");
  both("another architecture", edited("\"gpt2\"", "\"bert\""), "model_type \"bert\" is not supp");
  check_mistakes(rows);
}

TEST_CASE("mistakes: generate, evaluate, tokenize", "[mistakes]") {
  const std::string model = " --model run/ckpt/step-2 ", generate = "generate" + model;
  const std::string evaluate = "evaluate" + model;
  check_mistakes({
      {"an id forgotten", "", generate + "--prompt-ids 1,,2", 2,
       "--prompt-ids: a token id is missing beside a comma at position 1"},
      {"not an id", "", generate + "--prompt-ids 1,b", 2, "\"b\" at position 1 is not a token id"},
      {"an unknown id", "", generate + "--prompt-ids 1,99", 2, "token 99 at position 1"},
      {"an unknown character", "", generate + "--prompt a0", 3, "--prompt: character U+0030 at"},
      {"negative seed", "", generate + "--prompt a --seed -1", 2, "--seed must be 0 or more"},
      {"not an integer", "", generate + "--prompt a --seed 1.5", 2, "--seed must be an integer"},
      {"beyond 64 bits", "", generate + "--prompt a --tokens 99999999999999999999", 2,
       "--tokens must be an integer, and 99999999999999999999 does not fit into 64 bits"},
      {"no tokenizer", "cp -r run/ckpt/step-2/model model; rm model/tokenizer.json",
       "generate --model model --prompt a", 3, "no tokenizer.json here"},
      {"tokenizer cut off",
       "cp -r run/ckpt/step-2/model model; truncate -s -9 model/tokenizer.json",
       "generate --model model --prompt a", 3, "not a usable tokenizer.json: parse error at line"},
      {"a weight of a checkpoint changed",
       poke("run/ckpt/step-2/model/model.safetensors", "\\001", 9000), generate + "--prompt a", 3,
       "run/ckpt/step-2: model/model.safetensors is damaged"},
      {"the same, by its model's folder",
       poke("run/ckpt/step-2/model/model.safetensors", "\\001", 9000),
       "evaluate --model run/ckpt/step-2/model/ --data text.txt", 3,
       "model.safetensors is damaged"},
      {"the run's folder", "", "generate --model run --prompt a", 3, "in RUN/ckpt/step-N"},
      {"nothing near", "", generate + "--prompt a --quux 3", 2, "unknown option --quux; see"},
      {"too many threads", "", evaluate + "--data text.txt --threads 100000", 2,
       "--threads must be from 0 (choose) to 1024, not 100000"},
      {"negative threads", "", evaluate + "--data text.txt --threads -1", 2, "--threads must be"},
      {"no data", "", evaluate + "--data none", 3, "none: No such file"},
      {"an archive", "gzip -k text.txt", evaluate + "--data text.txt.gz", 3, "unpack it first"},
      {"an id the model lacks", tokens, evaluate + "--data tokens.bin", 3,
       "tokens.bin: token 116 at position 0 is outside the model's vocabulary"},
      {"nowhere to write", "", "tokenize encode --tokenizer byte --out none/x.bin text.txt", 5,
       "none/x.bin"},
      {"unknown command", "", "tokenize quux", 2, "unknown command quux; commands: ids, encode"},
  });
}
