#include "model/hf/model_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "engine/core/files.h"
#include "engine/kernels/copy.h"
#include "model/hf/config_json.h"
#include "model/hf/gpt2_names.h"

namespace skep {
namespace {

constexpr std::string_view prefix = "transformer.";
bool is_head(std::string_view name) { return name == "lm_head.weight"; }
bool is_bias(std::string_view name) {
  return name.size() > 5 && name.substr(name.size() - 5) == ".bias";
}

std::string stored_name(const std::string& hf) {
  return is_head(hf) ? hf : std::string(prefix) + hf;
}

// The elements as they are stored: padding rows cut, Conv1D weights transposed.
Tensor stored_view(const Tensor& value, const HfName& hf, const ModelConfig& config) {
  Tensor t = value;
  if (t.rank() == 2 && t.size(0) == config.padded_vocab &&
      (hf.name == "wte.weight" || is_head(hf.name)))
    t = t.sliced(0, 0, config.vocab);
  return hf.layout == HfName::Layout::transposed ? t.transposed(0, 1) : t;
}

TensorSource source(const std::string& name, const Tensor& view) {
  return {{name,
           StoredType::f32,
           {view.shape().begin(), view.shape().end()},
           static_cast<std::size_t>(view.numel()) * sizeof(float)},
          [view] { return converted(contiguous(view), DType::f32); }};
}

// A model without biases is a GPT-2 with zero biases: so written, other programs load it unchanged.
void add_zero_biases(std::vector<TensorSource>& list) {
  std::vector<TensorSource> biases;
  for (const auto& [layout, elements] : list) {
    const std::string_view name = layout.name;
    if (name.find("wte") != name.npos || name.find("wpe") != name.npos || is_head(name)) continue;
    const std::int64_t size = layout.shape.back();
    biases.push_back({{layout.name.substr(0, layout.name.size() - 6) + "bias",
                       StoredType::f32,
                       {size},
                       static_cast<std::size_t>(size) * sizeof(float)},
                      [size] { return zeros({size}); }});
  }
  list.insert(list.end(), biases.begin(), biases.end());
}

// Stored elements in `dtype`, whatever floating type the file has.
Tensor read_elements(const StoredTensor& t, const std::string& folder) {
  auto as = [&](DType dtype) {
    Shape shape;
    for (std::int64_t n : t.shape) shape.push_back(n);
    Tensor out = empty(shape, dtype);
    std::copy(t.data.begin(), t.data.end(), static_cast<std::byte*>(out.raw()));
    return out;
  };
  switch (t.type) {
    case StoredType::f32:
      return as(DType::f32);
    case StoredType::f64:
      return as(DType::f64);
    case StoredType::bf16:
      return as(DType::bf16);
    case StoredType::f16:
      return as(DType::f16);
    default:
      break;
  }
  fail(ErrorKind::data, "{}: tensor {} has type {}; weights are F32, F64, BF16 or F16", folder,
       t.name, stored_type_name(t.type));
}

class WeightReader {
 public:
  WeightReader(const std::string& folder, const ModelConfig& config, SafetensorsFolder weights)
      : folder_(folder), file_(std::move(weights)), config_(config) {}

  void read_all(ParameterStore& parameters) {
    for (const ParameterStore::Entry& entry : parameters.of_model())
      read(entry.path, parameters.host_value(entry));
    check_rest();
    parameters.values().storage()->bump_version();
    parameters.commit();
  }
  // Before a model is made that these weights cannot fill: a slip in config.json may ask for more
  // than the machine has.
  void check_sizes() const {
    require_shape("wte.weight", {config_.vocab, config_.width});
    require_shape("wpe.weight", {config_.context, config_.width});
    std::int64_t blocks = 0;
    while (find(fmt::format("h.{}.ln_1.weight", blocks)) != nullptr) ++blocks;
    if (blocks != config_.layers)
      fail(ErrorKind::data, "{}: config.json says n_layer {}, the weights have {} blocks", folder_,
           config_.layers, blocks);
  }

 private:
  void read(const std::string& path, Tensor into) {
    const HfName hf = gpt2_hf_name(path);
    const StoredTensor& t = get(hf.name);
    used_.insert(t.name);
    if (hf.name == "wte.weight" || is_head(hf.name)) {
      fill(into, 0);
      into = into.sliced(0, 0, config_.vocab);
    }
    if (hf.layout == HfName::Layout::transposed) into = into.transposed(0, 1);
    require_shape(hf.name, {into.shape().begin(), into.shape().end()});
    copy(into, read_elements(t, folder_));
  }
  // What is left must be known to hold nothing of the model.
  void check_rest() const {
    for (const auto& [name, t] : file_.tensors()) {
      if (used_.count(name) || is_gpt2_buffer(name) || (is_head(name) && config_.tied)) continue;
      if (!config_.bias && is_bias(name) && all_zero(*t)) continue;
      fail(ErrorKind::data, "{}: tensor {} has no place in this model", folder_, name);
    }
  }
  const StoredTensor& get(const std::string& hf) const {
    const StoredTensor* t = find(hf);
    if (!t) fail(ErrorKind::data, "{}: tensor {} is missing", folder_, stored_name(hf));
    return *t;
  }
  void require_shape(const std::string& hf, const std::vector<std::int64_t>& wanted) const {
    const StoredTensor& t = get(hf);
    if (!std::equal(t.shape.begin(), t.shape.end(), wanted.begin(), wanted.end()))
      fail(ErrorKind::data, "{}: tensor {} has shape ({}), the configuration asks for ({})",
           folder_, t.name, fmt::join(t.shape, ", "), fmt::join(wanted, ", "));
  }
  const StoredTensor* find(const std::string& hf) const {
    const StoredTensor* t = file_.find(stored_name(hf));
    return t ? t : file_.find(hf);
  }
  bool all_zero(const StoredTensor& t) const {
    for (double x : to_doubles(read_elements(t, folder_)))
      if (x != 0) return false;
    return true;
  }

  std::string folder_;
  SafetensorsFolder file_;
  ModelConfig config_;
  std::set<std::string, std::less<>> used_;
};

LoadedModel make_filled(const std::string& folder, const ModelConfig& config,
                        SafetensorsFolder weights) {
  WeightReader reader(folder, config, std::move(weights));
  reader.check_sizes();
  LoadedModel loaded;
  loaded.model = make_model(config);
  loaded.parameters = std::make_unique<ParameterStore>(*loaded.model, 0);
  reader.read_all(*loaded.parameters);
  return loaded;
}

}  // namespace

std::vector<TensorSource> model_tensors(const ModelConfig& config,
                                        const ParameterStore& parameters) {
  std::vector<TensorSource> list;
  for (const ParameterStore::Entry& entry : parameters.of_model()) {
    const HfName hf = gpt2_hf_name(entry.path);
    list.push_back(
        source(stored_name(hf.name), stored_view(parameters.host_value(entry), hf, config)));
  }
  if (!config.bias) add_zero_biases(list);
  return list;
}

Metadata model_metadata() { return {{"format", "pt"}}; }

void save_model(const std::string& folder, const ModelConfig& config,
                const ParameterStore& parameters) {
  std::vector<Tensor> keep;
  std::vector<StoredTensor> list;
  for (const auto& [layout, elements] : model_tensors(config, parameters)) {
    keep.push_back(elements());
    list.push_back({layout.name,
                    layout.type,
                    layout.shape,
                    {static_cast<const std::byte*>(keep.back().raw()), keep.back().bytes()}});
  }
  write_safetensors(folder + "/model.safetensors", list, model_metadata());
  write_file(folder + "/config.json", to_config_json(config));
}

std::string find_model_folder(const std::string& given) {
  for (const std::string& folder : {given, given + "/model"})
    if (std::filesystem::exists(folder + "/config.json")) return folder;
  fail(ErrorKind::data,
       "{}: no model here (a folder with config.json and model.safetensors is needed; a run keeps "
       "its own in RUN/ckpt/step-N)",
       given);
}

ModelConfig read_model_config(const std::string& folder) {
  const std::string path = folder + "/config.json";
  return parse_config_json(read_file(path), path);
}

void load_weights(const std::string& folder, const ModelConfig& config,
                  ParameterStore& parameters) {
  load_weights(SafetensorsFolder::open(folder), folder, config, parameters);
}

void load_weights(SafetensorsFolder weights, const std::string& folder, const ModelConfig& config,
                  ParameterStore& parameters) {
  WeightReader(folder, config, std::move(weights)).read_all(parameters);
}

LoadedModel open_model(const std::string& folder) {
  const ModelConfig config = read_model_config(folder);
  return make_filled(folder, config, SafetensorsFolder::open(folder));
}

LoadedModel open_model(const std::string& folder, SafetensorsFolder weights) {
  return make_filled(folder, read_model_config(folder), std::move(weights));
}

}  // namespace skep
