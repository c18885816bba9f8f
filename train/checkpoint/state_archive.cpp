#include "train/checkpoint/state_archive.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/backends/transfer.h"
#include "engine/core/files.h"
#include "engine/kernels/copy.h"
#include "model/hf/safetensors.h"
#include "train/checkpoint/origins.h"

namespace skep {
namespace {

using Json = nlohmann::ordered_json;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

StoredType stored_type(const Tensor& t) {
  switch (t.dtype()) {
    case DType::f32:
      return StoredType::f32;
    case DType::f64:
      return StoredType::f64;
    case DType::bf16:
      return StoredType::bf16;
    case DType::f16:
      return StoredType::f16;
    case DType::i32:
      return StoredType::i32;
  }
  return StoredType::f32;
}

class Collecting final : public CollectingArchive {
 public:
  void field(std::string_view name, std::int64_t& value) override { note(name, value); }
  void field(std::string_view name, double& value) override {
    // JSON has no infinity.
    note(name, std::isfinite(value)
                   ? Json(value)
                   : Json(fmt::format("{}", std::isnan(value) ? not_a_number : value)));
  }
  void field(std::string_view name, const Tensor& tensor) override {
    check(tensor.is_contiguous(), "archive: {} is not contiguous", name);
    tensors_.push_back({{std::string(name),
                         stored_type(tensor),
                         {tensor.shape().begin(), tensor.shape().end()},
                         tensor.bytes()},
                        [tensor] { return to_device(tensor, {}); }});
  }
  std::string numbers() const override { return numbers_.dump(2) + "\n"; }
  const std::vector<TensorSource>& tensors() const override { return tensors_; }

 private:
  void note(std::string_view name, Json value) {
    const bool added = numbers_.emplace(std::string(name), std::move(value)).second;
    check(added, "archive: two fields are called {}", name);
  }

  Json numbers_ = Json::object();
  std::vector<TensorSource> tensors_;
};

class Loading final : public LoadingArchive {
 public:
  Loading(const std::string& numbers_path, SafetensorsFile tensors)
      : path_(numbers_path),
        numbers_(Json::parse(read_file(path_), nullptr, false)),
        tensors_(std::move(tensors)) {
    if (!numbers_.is_object()) fail(ErrorKind::data, "{}: not a JSON object", path_);
  }
  void field(std::string_view name, std::int64_t& value) override {
    const Json* json = find(name);
    if (json == nullptr) return;
    if (!json->is_number_integer()) fail(ErrorKind::data, "{}: {} is not an integer", path_, name);
    value = json->get<std::int64_t>();
  }
  void field(std::string_view name, double& value) override {
    const Json* json = find(name);
    if (json == nullptr) return;
    for (const double special : {infinity, -infinity, not_a_number})
      if (*json == fmt::format("{}", special)) {
        value = special;
        return;
      }
    if (!json->is_number()) fail(ErrorKind::data, "{}: {} is not a number", path_, name);
    value = json->get<double>();
  }
  void field(std::string_view name, const Tensor& tensor) override {
    read_.insert(std::string(name));
    const StoredTensor* t = tensors_.find(name);
    if (!t) return miss(tensors_.path().string(), name);
    const bool fits =
        std::equal(t->shape.begin(), t->shape.end(), tensor.shape().begin(), tensor.shape().end());
    if (!fits || t->type != stored_type(tensor))
      fail(ErrorKind::data,
           "{}: tensor {} has {} numbers, here it has {}: saved with another loss.task_weighting, "
           "or another optimizer",
           tensors_.path().string(), name, t->data.size() / size_of(tensor.dtype()),
           tensor.numel());
    const bool here = tensor.device() == Device{};
    const Tensor read = here ? tensor : empty(tensor.shape(), tensor.dtype());
    std::copy(t->data.begin(), t->data.end(), static_cast<std::byte*>(read.raw()));
    transfer(tensor, read);
  }

  std::vector<std::string> notes() override {
    for (const auto& [name, value] : numbers_.items())
      if (!read_.contains(name)) leftovers_.unread(name);
    for (const StoredTensor& t : tensors_.tensors())
      if (!read_.contains(t.name)) leftovers_.unread(t.name);
    return leftovers_.notes();
  }

 private:
  // Null for one that the run may do without.
  const Json* find(std::string_view name) {
    read_.insert(std::string(name));
    const auto at = numbers_.find(std::string(name));
    if (at != numbers_.end()) return &*at;
    miss(path_, name);
    return nullptr;
  }
  void miss(const std::string& path, std::string_view name) {
    if (leftovers_.missing(name)) return;
    const FieldOrigin* origin = origin_of(name);
    if (origin == nullptr)
      fail(ErrorKind::data,
           "{}: {} is missing: saved with another optim.kind, or by an earlier version", path,
           name);
    fail(ErrorKind::data,
         "{}: {} is missing, {}: {} is not what it was when this was saved: set it back, or begin "
         "a new run",
         path, name, origin->what, origin->keys);
  }

  std::string path_;
  Json numbers_;
  SafetensorsFile tensors_;
  std::set<std::string> read_;
  Leftovers leftovers_;
};

}  // namespace

std::unique_ptr<CollectingArchive> make_collecting_archive() {
  return std::make_unique<Collecting>();
}
std::unique_ptr<LoadingArchive> make_loading_archive(const std::string& numbers_path,
                                                     SafetensorsFile tensors) {
  return std::make_unique<Loading>(numbers_path, std::move(tensors));
}

}  // namespace skep
