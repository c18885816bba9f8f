// The cache against computing everything, within the context and beyond it; greedy tokens and
// logits against PyTorch's.
#include "tests/tools/models.h"
#include "tools/generate/continuation.h"

using namespace skep;

namespace {

using Cache = NextLogits::Cache;
using Ids = std::vector<std::int32_t>;
constexpr std::int64_t vocab = 40, context = 8;

Ids continued(LanguageModel& model, Ids ids, Cache cache, const Sampling& sampling,
              const Continuation& wanted) {
  NextLogits next_logits(model, cache);
  continue_tokens(next_logits, ids, wanted, sampling, [](std::int32_t) {});
  return ids;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

}  // namespace

TEST_CASE("generation: logits are the same with and without the cache, beyond the context too") {
  const LoadedModel made = random_model(small_config(vocab, context));
  NextLogits cached(*made.model, Cache::yes), uncached(*made.model, Cache::no);
  Ids ids = {3, 1, 4};
  for (int i = 0; i < 3 * context; ++i) {
    const auto a = cached(ids), b = uncached(ids);
    INFO(ids.size() << " tokens");
    CHECK(a.size() == vocab);
    CHECK(largest_difference(a, b) < 1e-5);
    ids.push_back(static_cast<std::int32_t>((7 * i + 5) % vocab));
  }
}

TEST_CASE("generation: tokens are the same with and without the cache, greedy and drawn") {
  const LoadedModel made = random_model(small_config(vocab, context));
  const double temperature = GENERATE(0.0, 1.0);
  const Ids prompt =
      GENERATE(Ids{7}, Ids{1, 2, 3, 4, 5, 6, 7, 8}, Ids{9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  const Sampling sampling{.temperature = temperature, .seed = 21};
  const Continuation wanted{3 * context, vocab, std::nullopt};
  const auto with = continued(*made.model, prompt, Cache::yes, sampling, wanted);
  CHECK(with == continued(*made.model, prompt, Cache::no, sampling, wanted));
  CHECK(with.size() == prompt.size() + 3 * context);
}

TEST_CASE("generation: beyond the context the last tokens decide, as if they were the text") {
  const LoadedModel made = random_model(small_config(vocab, context));
  const auto logits_after = [&](const Ids& ids) {
    return NextLogits(*made.model, Cache::yes)(ids);
  };
  const Ids ids = {11, 5, 2, 30, 8, 1, 17, 25, 3, 9, 12};
  const Ids last(ids.end() - context, ids.end());
  CHECK(largest_difference(logits_after(ids), logits_after(last)) < 1e-5);
  Ids first_seen_changed = ids;
  ++first_seen_changed[ids.size() - context];
  CHECK(largest_difference(logits_after(ids), logits_after(first_seen_changed)) > 1e-3);
}

TEST_CASE("generation: it ends with the stop token") {
  const LoadedModel made = random_model(small_config(vocab, context));
  const Sampling drawn{.seed = 2};
  const auto all = continued(*made.model, {7}, Cache::yes, drawn, {20, vocab, std::nullopt});
  const std::int32_t stop = all[4];
  const auto first = std::find(all.begin() + 1, all.end(), stop) - all.begin();
  const auto stopped = continued(*made.model, {7}, Cache::yes, drawn, {20, vocab, stop});
  CHECK(stopped == Ids(all.begin(), all.begin() + first + 1));
}

TEST_CASE("generation: ids that nobody can read never come") {
  const LoadedModel made = random_model(small_config(vocab, context));
  const auto all =
      continued(*made.model, {7}, Cache::yes, {.temperature = 5}, {60, 10, std::nullopt});
  CHECK(*std::max_element(all.begin(), all.end()) == 9);
}

TEST_CASE("generation: logits after each beginning are PyTorch's") {
  const std::string name = GENERATE("gpt2_tiny", "gpt2_tiny_nobias");
  const test::Reference reference(name);
  const TemporaryFolder folder;
  write_reference_model(reference, folder.path(), name == "gpt2_tiny" ? "true" : "false");
  const LoadedModel loaded = open_model(folder.path());
  const auto tokens = to_ids(reference.tensor("tokens"));
  const auto logits = to_doubles(reference.tensor("logits"));
  for (std::int64_t row = 0; row < reference_sequences; ++row) {
    NextLogits cached(*loaded.model, Cache::yes);
    for (std::int64_t t = 0; t < reference_length; ++t) {
      const auto begin = tokens.begin() + row * reference_length;
      const auto ours = cached(Ids(begin, begin + t + 1));
      const double* theirs = logits.data() + (row * reference_length + t) * reference_vocab;
      CHECK(largest_difference(ours, {theirs, theirs + reference_vocab}) < 1e-4);
      CHECK(sample(ours, {.temperature = 0}, 0) ==
            std::max_element(theirs, theirs + reference_vocab) - theirs);
    }
  }
}
