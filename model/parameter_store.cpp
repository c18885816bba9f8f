#include "model/parameter_store.h"

#include <array>

#include "engine/autograd/grad_slot.h"
#include "engine/kernels/copy.h"

namespace skep {
namespace {

constexpr std::int64_t boundary = 16;  // elements: 64 bytes of fp32

std::int64_t rounded(std::int64_t n) { return (n + boundary - 1) / boundary * boundary; }

Tensor view(const Tensor& flat, const ParameterStore::Entry& entry) {
  return flat.sliced(0, entry.begin, entry.end - entry.begin).reshaped(entry.shape);
}

void bind(Parameter& parameter, const ParameterStore::Entry& entry) {
  parameter.value = with_grad(entry.value);
  GradSlot& slot = *parameter.value.slot();
  slot.value = entry.grad;
  slot.bound = true;
  parameter.compute = parameter.value;
}

// Products read the copy; its gradient gathers where the master's does.
void bind_copy(Parameter& parameter, const Tensor& copy) {
  parameter.compute = copy;
  parameter.compute.set_slot(parameter.value.slot());
}

void add_range(std::vector<FlatRange>& ranges, const ParameterStore::Entry& entry) {
  const auto decay = entry.shape.rank() >= 2 ? FlatRange::Decay::yes : FlatRange::Decay::no;
  const std::int64_t end = entry.begin + rounded(entry.end - entry.begin);
  if (!ranges.empty() && ranges.back().decay == decay) {
    ranges.back().end = end;
  } else {
    ranges.push_back({entry.begin, end, decay});
  }
}

}  // namespace

ParameterStore::ParameterStore(Module& root, std::uint64_t seed, DType masters,
                               std::optional<DType> compute)
    : ParameterStore(std::array{&root}, seed, masters, compute) {}

ParameterStore::ParameterStore(std::span<Module* const> roots, std::uint64_t seed, DType masters,
                               std::optional<DType> compute) {
  std::vector<Parameter*> parameters;
  for (Module* root : roots) {
    if (!root) continue;
    const std::vector<Parameter*> own = root->parameters();
    parameters.insert(parameters.end(), own.begin(), own.end());
    if (root == roots.front()) model_entries_ = own.size();
  }
  std::int64_t total = 0;
  for (const Parameter* p : parameters) {
    entries_.push_back({p->path, p->shape, total, total + p->shape.numel(), {}, {}});
    total += rounded(p->shape.numel());
  }
  values_ = zeros({total}, masters);
  grads_ = zeros({total}, masters);
  if (compute && *compute != masters) compute_ = zeros({total}, *compute);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    entry.value = view(values_, entry);
    entry.grad = view(grads_, entry);
    initialize(entry.value, parameters[i]->init, seed, entry.path);
    bind(*parameters[i], entry);
    if (compute_.defined()) bind_copy(*parameters[i], view(compute_, entry));
    entry.value = parameters[i]->value;
    add_range(decay_ranges_, entry);
  }
  commit();
}

void ParameterStore::commit() {
  if (compute_.defined()) copy(compute_, values_);
}

const ParameterStore::Entry& ParameterStore::at(std::string_view path) const {
  for (const Entry& entry : entries_)
    if (entry.path == path) return entry;
  fail(ErrorKind::bug, "no parameter is called {}", path);
}

std::int64_t ParameterStore::parameter_count() const {
  std::int64_t n = 0;
  for (const Entry& entry : entries_) n += entry.shape.numel();
  return n;
}

void ParameterStore::clear_gradients() {
  for (Entry& entry : entries_) entry.value.slot()->written = false;
}

std::vector<std::string> ParameterStore::zero_unwritten() {
  std::vector<std::string> unused;
  for (Entry& entry : entries_) {
    if (entry.value.slot()->written) continue;
    fill(entry.grad, 0);
    unused.push_back(entry.path);
  }
  return unused;
}

void ParameterStore::on_gradient_ready(std::function<void(std::size_t)> f) {
  for (std::size_t i = 0; i < entries_.size(); ++i)
    entries_[i].value.slot()->on_ready =
        f ? [f, i](const GradSlot&) { f(i); } : std::function<void(const GradSlot&)>{};
}

}  // namespace skep
