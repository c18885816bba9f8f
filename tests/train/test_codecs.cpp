// Codecs, choice of the largest, and error feedback: exact values, and training through every
// codec.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/core/random.h"
#include "train/compress/error_feedback.h"
#include "train/compress/topk.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

std::vector<float> through(const Codec& codec, const std::vector<float>& values) {
  std::vector<std::byte> wire(codec.bytes(values.size()));
  codec.encode(values, wire);
  std::vector<float> back(values.size(), -1);
  codec.decode(wire, back);
  return back;
}

std::vector<float> normal_values(std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(random_normal(3, i));
  return values;
}

}  // namespace

TEST_CASE("integer codecs: sizes, exact steps and the error of half a step") {
  const auto int8 = make_int8_codec(256), int4 = make_int4_codec(256);
  CHECK(int8->bytes(1000) == 1000 + 4 * 4);
  CHECK(int4->bytes(1001) == 501 + 4 * 4);
  CHECK(int8->bytes(0) == 0);
  // Steps of 1: whole numbers up to the largest come back as they are, an odd count included.
  CHECK(through(*int8, {127, -5, 0.4f, -0.6f, 64}) == std::vector<float>{127, -5, 0, -1, 64});
  CHECK(through(*int4, {7, -7, 3.4f, -0.6f, 1}) == std::vector<float>{7, -7, 3, -1, 1});
  // A block sees its own largest only; the last one is short.
  CHECK(through(*make_int8_codec(2), {127, 1, 1270, 10, 254}) ==
        std::vector<float>{127, 1, 1270, 10, 254});
  const std::vector<float> values = normal_values(1000), back = through(*int8, values);
  for (std::size_t b = 0; b < 1000; b += 256) {
    float largest = 0;
    for (std::size_t i = b; i < std::min<std::size_t>(b + 256, 1000); ++i)
      largest = std::max(largest, std::abs(values[i]));
    for (std::size_t i = b; i < std::min<std::size_t>(b + 256, 1000); ++i)
      CHECK(std::abs(back[i] - values[i]) <= largest / 127 / 2 * 1.00001f);
  }
}

TEST_CASE("codecs: zeros stay zeros, tiny and huge blocks stay finite") {
  for (const auto& make : {+[] { return make_int8_codec(4); }, +[] { return make_int4_codec(4); },
                           +[] { return make_topk_codec(0.25, make_int4_codec(4)); }}) {
    const auto codec = make();
    INFO(codec->name());
    CHECK(through(*codec, std::vector<float>(9, 0)) == std::vector<float>(9, 0));
    for (const float size : {1e-40f, 1e38f, std::numeric_limits<float>::denorm_min()}) {
      const std::vector<float> back = through(*codec, {size, -size, size / 2, 0, size});
      for (const float x : back) CHECK(std::isfinite(x));
      // Half an int4 step, or the smallest number there is.
      CHECK(std::abs(back[0] - size) <= 0.08f * size + std::numeric_limits<float>::denorm_min());
      CHECK(back[3] == 0);
    }
  }
}

TEST_CASE("the largest are chosen exactly; the lowest index wins a tie") {
  const std::vector<float> values = {1, -3, 2, 3, -2, 2};
  const auto indices = [&](std::size_t k) {
    std::vector<std::uint32_t> all;
    for (const SparseEntry& entry : select_topk(values, k)) all.push_back(entry.index);
    return all;
  };
  CHECK(indices(1) == std::vector<std::uint32_t>{1});
  CHECK(indices(2) == std::vector<std::uint32_t>{1, 3});
  CHECK(indices(3) == std::vector<std::uint32_t>{1, 2, 3});
  CHECK(indices(4) == std::vector<std::uint32_t>{1, 2, 3, 4});
  CHECK(indices(99).size() == 6);
  CHECK(select_topk(std::vector<float>(8, 1.0f), 2)[1].index == 1);
  CHECK_THROWS_WITH(select_topk(values, 0), Catch::Contains("k must be at least 1"));
  CHECK(topk_count(1000, 0.05) == 50);
  CHECK(topk_count(3, 0.01) == 1);
  CHECK(topk_count(0, 0.5) == 0);
}

TEST_CASE("topk with a quantised rest: the chosen exactly, in 1.3 bytes an element") {
  const auto codec = make_topk_codec(0.1, make_int4_codec(256));
  const std::vector<float> values = normal_values(25600), back = through(*codec, values);
  for (const SparseEntry& entry : select_topk(values, 2560))
    CHECK(back[entry.index] == entry.value);
  CHECK(codec->bytes(25600) == 8 * 2560 + 12800 + 4 * 100);  // 1.3156 bytes an element
  const auto all = make_topk_codec(1, make_int8_codec(256));
  CHECK(through(*all, values) == values);
}

TEST_CASE("error feedback: what was sent and what is left are the gradients, after every step") {
  // Eight equal gradients, two chosen a step: four steps send each of them once.
  ErrorFeedback feedback("residual", 8);
  std::vector<double> sent_in_all(8, 0);
  for (int step = 1; step <= 4; ++step) {
    std::vector<float> a(8, 1.0f), sent(8, 0);
    feedback.add_to(a, 0, 1);
    for (const SparseEntry& entry : select_topk(a, 2)) sent[entry.index] = entry.value;
    feedback.note(a, sent, 0, 1);
    feedback.commit();
    std::vector<float> left(8, 0);
    feedback.add_to(left, 0, 1);
    for (std::size_t i = 0; i < 8; ++i) {
      sent_in_all[i] += sent[i];
      CHECK(sent_in_all[i] + left[i] == step);
    }
  }
  // A skipped step leaves the residual as it was; a loss scale of 4 sees it four times as large.
  std::vector<float> before(8, 0), after(8, 0), scaled(8, 0);
  feedback.add_to(before, 0, 1);
  feedback.note(std::vector<float>(8, 9), std::vector<float>(8, 0), 0, 1);
  feedback.add_to(after, 0, 1);
  feedback.add_to(scaled, 0, 4);
  CHECK(after == before);
  for (std::size_t i = 0; i < 8; ++i) CHECK(scaled[i] == 4 * before[i]);
}

TEST_CASE("every codec trains at several ranks, overlap changes nothing, replicas stay equal") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);  // compares parameters after every step
  config.run.steps = 30;
  config.comm.bucket_mb = 0.02;
  config.compress.density = 0.1;
  const double plain = train(config, 1).steps.back().loss;
  for (const char* codec : {"bf16", "int8", "int4", "topk", "topk_int8", "topk_int4"})
    for (const int ranks : {1, 2, 3}) {
      INFO(codec << " at " << ranks);
      config.compress.codec = codec;
      config.comm.overlap = true;
      const Recording on = train(config, ranks);
      config.comm.overlap = false;
      CHECK(train(config, ranks).final_values == on.final_values);
      CHECK(std::abs(on.steps.back().loss - plain) < 0.25);
      CHECK(on.steps.back().loss != plain);
    }
}

TEST_CASE("density 1 equals dense sums in rank order") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 5;
  config.comm.reduction = "rank_order";
  const Recording dense = train(config, 3);
  config.comm.reduction = "fast";
  config.compress.density = 1;
  config.compress.codec = "topk";
  CHECK(train(config, 3).final_values == dense.final_values);
}

TEST_CASE("bytes of codecs against dense fp32") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 3;
  config.comm.hash_every = 0;
  config.comm.topology = "full_mesh";
  const auto bytes = [&](const char* codec, double density) {
    config.compress.codec = codec;
    config.compress.density = density;
    return static_cast<double>(train(config, 4).steps.back().bytes_sent);
  };
  const double dense = bytes("none", 1);
  CHECK(bytes("int8", 1) / dense < 0.27);
  CHECK(bytes("topk", 0.01) / dense < 0.10);
  CHECK(bytes("topk_int4", 0.1) / dense == Approx(1.3156 / 4).epsilon(0.05));
}

TEST_CASE("residuals are saved: stopping and resuming gives the same bits") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 8;
  config.checkpoint.dir = scratch.path + "/ckpt";
  config.checkpoint.every = 5;
  for (const char* codec : {"int8", "topk"}) {
    INFO(codec);
    config.compress.codec = codec;
    config.checkpoint.dir = scratch.path + "/" + codec;
    const Recording whole = train(config, 3);
    Config again = config;
    again.checkpoint.dir = scratch.path + "/again";
    const std::string checkpoint = config.checkpoint.dir + "/step-5";
    CHECK(train(again, 3, checkpoint).final_values == whole.final_values);
    CHECK_THROWS_WITH(train(again, 2, checkpoint), Catch::Contains("resume with 3 ranks"));
  }
}
