// Modules, probes, the parameter store, GPT-2's details, and its folder on disk.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <map>

#include "engine/core/files.h"
#include "engine/core/random.h"
#include "gpt2_reference.h"
#include "model/hf/config_json.h"
#include "model/hf/model_folder.h"

using namespace skep;
using namespace skep::test;

namespace {

ModelConfig small_config() {
  ModelConfig config;
  config.layers = 2;
  config.heads = 2;
  config.width = 32;
  config.context = 16;
  config.vocab = 50;
  config.padded_vocab = 64;
  return config;
}

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "skep-model-XXXXXX").string();
    check(mkdtemp(name.data()) != nullptr, "no folder");
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

Tensor tokens(std::int64_t batch, std::int64_t time, std::int64_t below, std::uint64_t seed = 3) {
  std::vector<std::int32_t> ids(batch * time);
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>(random_below(seed, i, below));
  return tensor_of(ids, {batch, time});
}

}  // namespace

TEST_CASE("GPT-2: paths are stable and complete") {
  ModelConfig config = small_config();
  config.layers = 1;
  const auto model = make_model(config);
  std::vector<std::string> paths;
  for (const Parameter* p : model->parameters()) paths.push_back(p->path);
  CHECK(paths == std::vector<std::string>{
                     "token_embedding.weight", "position_embedding.weight",
                     "blocks.0.norm_1.weight", "blocks.0.norm_1.bias",
                     "blocks.0.attention.qkv.weight", "blocks.0.attention.qkv.bias",
                     "blocks.0.attention.out.weight", "blocks.0.attention.out.bias",
                     "blocks.0.norm_2.weight", "blocks.0.norm_2.bias", "blocks.0.mlp.up.weight",
                     "blocks.0.mlp.up.bias", "blocks.0.mlp.down.weight", "blocks.0.mlp.down.bias",
                     "final_norm.weight", "final_norm.bias"});
}

TEST_CASE("GPT-2: the position ids are a buffer, not a parameter; children's buffers carry paths") {
  const auto model = make_model(small_config());
  const std::vector<Buffer*> buffers = model->buffers();
  REQUIRE(buffers.size() == 1);
  CHECK(buffers[0]->path == "position_ids");
  std::vector<double> counting;
  for (int p = 0; p < 16; ++p) counting.push_back(p);
  CHECK(to_doubles(buffers[0]->value) == counting);
  struct Holder final : Module {
    explicit Holder(bool inner) {
      buffer("own", zeros({3}));
      if (!inner) child<Holder>("part", true);
    }
    Tensor forward(const Tensor& x, const Pass&) override { return x; }
  } holder(false);
  std::vector<std::string> paths;
  for (const Buffer* b : holder.buffers()) paths.push_back(b->path);
  CHECK(paths == std::vector<std::string>{"own", "part.own"});
  CHECK(holder.parameters().empty());
}

TEST_CASE("GPT-2: the published size has 124,439,808 parameters") {
  ModelConfig config;
  config.layers = 12, config.heads = 12, config.width = 768, config.context = 1024;
  config.vocab = config.padded_vocab = 50257;
  const auto model = make_model(config);
  std::int64_t count = 0;
  for (const Parameter* p : model->parameters()) count += p->shape.numel();
  CHECK(count == 124439808);
}

TEST_CASE("GPT-2: weights start as specified") {
  ModelConfig config = small_config();
  config.layers = 8, config.width = 128, config.heads = 4;
  const auto model = make_model(config);
  const ParameterStore store(*model, 7);
  for (const auto& entry : store.list()) {
    INFO(entry.path);
    const auto values = to_doubles(entry.value);
    double square = 0;
    for (double x : values) square += x * x;
    const double deviation = std::sqrt(square / static_cast<double>(values.size()));
    const bool residual = entry.path.find("attention.out.weight") != std::string::npos ||
                          entry.path.find("mlp.down.weight") != std::string::npos;
    if (entry.path.find("bias") != std::string::npos) {
      CHECK(deviation == 0);
    } else if (entry.shape.rank() == 1) {
      CHECK(values == std::vector<double>(values.size(), 1.0));
    } else if (residual) {
      CHECK(deviation == Approx(0.02 / std::sqrt(16.0)).epsilon(0.05));
    } else if (entry.path == "token_embedding.weight") {
      CHECK(deviation ==
            Approx(0.02 * std::sqrt(50.0 / 64)).epsilon(0.05));  // padding rows are zero
      CHECK(values.back() == 0);
    } else {
      CHECK(deviation == Approx(0.02).epsilon(0.05));
    }
  }
  CHECK(to_doubles(ParameterStore(*make_model(config), 7).values()) == to_doubles(store.values()));
  CHECK(to_doubles(ParameterStore(*make_model(config), 8).values()) != to_doubles(store.values()));
}

TEST_CASE("the store: one layout, gaps are zero, two-dimensional parameters decay") {
  ModelConfig config = small_config();
  config.width = 18, config.vocab = config.padded_vocab = 7;  // nothing is a multiple of 16
  const auto model = make_model(config);
  const ParameterStore store(*model, 1);
  std::int64_t covered = 0;
  std::map<std::int64_t, FlatRange::Decay> decay_of;
  for (const FlatRange& range : store.decay_ranges()) {
    CHECK(range.begin == covered);
    covered = range.end;
    for (std::int64_t i = range.begin; i < range.end; ++i) decay_of[i] = range.decay;
  }
  CHECK(covered == store.size());
  double outside = 0, total = 0;
  for (double x : to_doubles(store.values())) total += std::abs(x);
  for (const auto& entry : store.list()) {
    INFO(entry.path);
    CHECK(entry.begin % 16 == 0);
    CHECK(decay_of[entry.begin] ==
          (entry.shape.rank() >= 2 ? FlatRange::Decay::yes : FlatRange::Decay::no));
    for (double x : to_doubles(entry.value)) outside += std::abs(x);
  }
  CHECK(outside == Approx(total).epsilon(1e-12));
}

TEST_CASE("a tied head adds its gradient to the embedding's; a gradient is ready once") {
  const auto model = make_model(small_config());
  ParameterStore store(*model, 1);
  std::map<std::size_t, int> ready;
  store.on_gradient_ready([&](std::size_t i) { ++ready[i]; });
  Tape tape;
  tape.backward(cross_entropy((*model)(tokens(2, 16, 50), Pass{}), tokens(2, 16, 50, 4)));
  CHECK(ready.size() == store.list().size());
  for (const auto& [index, times] : ready) CHECK(times == 1);
  CHECK(store.zero_unwritten().empty());
  CHECK(Node::live() == 0);
}

TEST_CASE("padded logits do not exist, padding rows get no gradient") {
  const auto model = make_model(small_config());
  ParameterStore store(*model, 1);
  Tape tape;
  const Tensor logits = (*model)(tokens(2, 16, 50), Pass{});
  CHECK(logits.shape() == Shape{2, 16, 50});
  tape.backward(cross_entropy(logits, tokens(2, 16, 50, 4)));
  const Tensor table = store.at("token_embedding.weight").grad;
  CHECK(norm(table.sliced(0, 50, 14)) == 0);
  CHECK(norm(table.sliced(0, 0, 50)) > 0);
}

TEST_CASE("probes see every module forward and backward, and change nothing") {
  const auto model = make_model(small_config());
  ParameterStore store(*model, 1);
  auto gradients = [&] {
    Tape tape;
    store.clear_gradients();
    tape.backward(cross_entropy((*model)(tokens(1, 8, 50), Pass{}), tokens(1, 8, 50, 4)));
    store.zero_unwritten();
    return to_doubles(store.grads());
  };
  const auto before = gradients();
  std::map<std::string, Shape> forward, backward;
  auto probe = std::make_shared<Probe>();
  probe->forward = [&](const std::string& path, const Tensor&, const Tensor& out) {
    forward[path] = out.shape();
  };
  probe->backward = [&](const std::string& path, const Tensor& grad) {
    backward[path] = grad.shape();
  };
  model->attach(probe);
  CHECK(gradients() == before);
  CHECK(forward.at("blocks.1.attention.qkv") == Shape{1, 8, 96});
  CHECK(forward.at("blocks.0.mlp.up") == Shape{1, 8, 128});
  CHECK(forward.at("") == Shape{1, 8, 50});
  for (const auto& [path, shape] : forward) {
    INFO(path);
    CHECK(backward.at(path) == shape);
  }
}

TEST_CASE("dropout: off in evaluation, a function of key and sample in training") {
  ModelConfig config = small_config();
  config.dropout = 0.5;
  const auto model = make_model(config);
  const ParameterStore store(*model, 1);
  const NoGrad pause;
  const Tensor ids = tokens(2, 8, 50);
  const auto run = [&](const Tensor& batch, const Pass& pass) {
    return to_doubles((*model)(batch, pass));
  };
  const auto quiet = run(ids, Pass{});
  CHECK(run(ids, Pass{}) == quiet);
  const Pass train{Pass::Mode::train, 11, 5};
  const auto noisy = run(ids, train);
  CHECK(noisy != quiet);
  CHECK(run(ids, train) == noisy);
  CHECK(run(ids, Pass{Pass::Mode::train, 12, 5}) != noisy);
  // The second sample of the batch is global sample 6, alone or in company.
  const Tensor second = contiguous(ids.sliced(0, 1, 1));
  const auto alone = run(second, Pass{Pass::Mode::train, 11, 6});
  for (std::size_t i = 0; i < alone.size(); ++i)
    CHECK(alone[i] == Approx(noisy[alone.size() + i]).margin(1e-6));
}

TEST_CASE("a cache gives the logits of the whole pass") {
  const auto model = make_model(small_config());
  const ParameterStore store(*model, 1);
  const NoGrad pause;
  const Tensor ids = tokens(2, 16, 50), whole = (*model)(ids, Pass{});
  const auto cache = model->make_cache();
  Pass pass;
  pass.cache = cache.get();
  for (auto [begin, count] : {std::pair{0, 5}, {5, 1}, {6, 1}, {7, 9}}) {
    const Tensor part = (*model)(contiguous(ids.sliced(1, begin, count)), pass);
    CHECK(relative_difference(part, whole.sliced(1, begin, count)) < 1e-6);
  }
  CHECK_THROWS_WITH((*model)(tokens(2, 1, 50), pass), Catch::Contains("context is 16"));
}

TEST_CASE("a model folder holds the model: tied, untied, padded, without biases") {
  const Folder folder;
  ModelConfig config = small_config();
  config.bias = GENERATE(true, false);
  config.tied = GENERATE(true, false);
  const auto model = make_model(config);
  const ParameterStore store(*model, 5);
  save_model(folder.path, config, store);
  const LoadedModel loaded = open_model(folder.path);
  CHECK(to_string(loaded.model->config()) == to_string(config));
  CHECK(to_doubles(loaded.parameters->values()) == to_doubles(store.values()));
}

TEST_CASE("a model folder that does not fit is refused by name") {
  const Folder folder;
  const ModelConfig config = small_config();
  const auto model = make_model(config);
  const ParameterStore store(*model, 5);
  save_model(folder.path, config, store);
  const std::string json = read_file(folder.path + "/config.json");
  const auto edited = [&](const std::string& from, const std::string& to) {
    std::string text = json;
    text.replace(text.find(from), from.size(), to);
    write_file(folder.path + "/config.json", text);
  };
  edited("\"n_layer\": 2", "\"n_layer\": 3");
  CHECK_THROWS_WITH(open_model(folder.path),
                    Catch::Contains("n_layer 3, the weights have 2 blocks"));
  edited("\"n_layer\": 2", "\"n_layer\": 2000000000");  // before any block is made
  CHECK_THROWS_WITH(open_model(folder.path),
                    Catch::Contains("n_layer 2000000000, the weights have 2 blocks"));
  edited("\"n_layer\": 2", "\"n_layer\": 1");
  CHECK_THROWS_WITH(open_model(folder.path),
                    Catch::Contains("n_layer 1, the weights have 2 blocks"));
  edited("\"n_positions\": 16", "\"n_positions\": 32");
  CHECK_THROWS_WITH(open_model(folder.path),
                    Catch::Contains("wpe.weight") && Catch::Contains("(32, 32)"));
  edited("\"n_head\": 2", "\"n_head\": 3");
  CHECK_THROWS_WITH(open_model(folder.path),
                    Catch::Contains("n_embd 32 is not a multiple of n_head 3"));
  edited("\"model_type\": \"gpt2\"", "\"model_type\": \"bert\"");
  CHECK_THROWS_WITH(open_model(folder.path), Catch::Contains("bert"));
  edited("\"n_layer\": 2", "\"n_layer\": -2");
  CHECK_THROWS_WITH(open_model(folder.path), Catch::Contains("n_layer"));
  write_file(folder.path + "/config.json", "{");
  CHECK_THROWS_WITH(open_model(folder.path), Catch::Contains("not a JSON object"));
  CHECK_THROWS_WITH(find_model_folder(folder.path + "/none"), Catch::Contains("no model here"));
}

TEST_CASE("a tiny model learns one batch by heart") {
  const auto model = make_model(small_config());
  ParameterStore store(*model, 1);
  const auto optimizer = make_adamw({0.9, 0.99, 1e-8, 0}, store.values());
  const Tensor ids = tokens(4, 16, 50), targets = tokens(4, 16, 50, 4);
  const Tensor factor = tensor_of(std::vector<double>{1.0 / 64}, {});
  double loss = 0;
  for (int step = 0; step < 200; ++step) {
    Tape tape;
    store.clear_gradients();
    const Tensor total = model->loss(ids, targets, Pass{});
    tape.backward(total);
    loss = total.item() / 64;
    optimizer->update(store.values(), store.grads(), store.decay_ranges(), 5e-3, factor);
  }
  CHECK(loss < 0.02);
}

TEST_CASE("bf16: products read the copy, gradients and masters stay fp32") {
  ModelConfig config = small_config();
  const auto wide = make_model(config), narrow = make_model(config);
  ParameterStore exact(*wide, 1), mixed(*narrow, 1, DType::f32, DType::bf16);
  const Tensor ids = tokens(4, 16, 50), targets = tokens(4, 16, 50, 4);
  const auto run = [&](LanguageModel& model, ParameterStore& store) {
    Tape tape;
    store.clear_gradients();
    const Tensor loss = model.loss(ids, targets, Pass{});
    tape.backward(loss);
    store.zero_unwritten();
    return loss.item();
  };
  const double loss = run(*wide, exact);
  CHECK(run(*narrow, mixed) == Approx(loss).epsilon(1e-3));
  CHECK(run(*narrow, mixed) != loss);
  CHECK(mixed.grads().dtype() == DType::f32);
  for (const auto& entry : mixed.list()) {
    INFO(entry.path);
    if (entry.path.find("qkv.bias") == std::string::npos)  // a third of it is rounding noise
      CHECK(relative_difference(entry.grad, exact.at(entry.path).grad) < 0.03);
  }
  // What commit() has not copied, products do not see.
  const double before = run(*narrow, mixed);
  fill(mixed.at("blocks.0.mlp.up.weight").value, 0.5);
  CHECK(run(*narrow, mixed) == before);
  mixed.commit();
  CHECK(run(*narrow, mixed) != before);
}
