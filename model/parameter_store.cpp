#include "model/parameter_store.h"

#include <array>

#include "engine/autograd/grad_slot.h"
#include "engine/backends/backend.h"
#include "engine/backends/transfer.h"
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
                               std::optional<DType> compute, Device device)
    : ParameterStore(std::array{&root}, seed, masters, compute, device) {}

ParameterStore::ParameterStore(std::span<Module* const> roots, std::uint64_t seed, DType masters,
                               std::optional<DType> compute, Device device) {
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
  values_ = zeros({total}, masters, device);
  grads_ = zeros({total}, masters, device);
  if (compute && *compute != masters) compute_ = zeros({total}, *compute, device);
  host_values_ = on_host() ? values_ : staging({total}, masters, device);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    entry.value = view(values_, entry);
    entry.grad = view(grads_, entry);
    initialize(view(host_values_, entry), parameters[i]->init, seed, entry.path);
    bind(*parameters[i], entry);
    if (compute_.defined()) bind_copy(*parameters[i], view(compute_, entry));
    entry.value = parameters[i]->value;
    add_range(decay_ranges_, entry);
  }
  commit();
}

const Tensor& ParameterStore::values() const {
  if (!host_values_current_) transfer(host_values_, values_);
  host_values_current_ = true;
  return host_values_;
}

Tensor ParameterStore::host_value(const Entry& entry) const { return view(values(), entry); }

const Tensor& ParameterStore::working_values() {
  host_values_current_ = on_host();
  return values_;
}

void ParameterStore::commit() {
  if (host_values_current_ && !on_host()) transfer(values_, host_values_);
  if (compute_.defined()) copy(compute_, values_);
}

// The host's block is made when somebody first asks for it.
std::shared_ptr<Crossing> ParameterStore::bring_gradients(std::int64_t begin,
                                                          std::int64_t end) const {
  if (!host_grads_.defined())
    host_grads_ = on_host() ? grads_ : staging(grads_.shape(), grads_.dtype(), device());
  if (on_host() || begin == end) return std::make_shared<FinishedCrossing>();
  if (const auto* part = host_parts_.having(begin, end)) return part->crossing;
  std::shared_ptr<Crossing> crossing = start_transfer(host_grads_.sliced(0, begin, end - begin),
                                                      grads_.sliced(0, begin, end - begin));
  host_parts_.add({begin, end, crossing});
  return crossing;
}

const Tensor& ParameterStore::grads() const {
  bring_gradients(0, size())->wait();
  return host_grads_;
}

std::span<float> ParameterStore::grads(std::int64_t begin, std::int64_t end) const {
  bring_gradients(begin, end)->wait();
  return {host_grads_.data<float>() + begin, static_cast<std::size_t>(end - begin)};
}

void ParameterStore::return_gradients(std::int64_t begin, std::int64_t end) {
  if (on_host() || begin == end) return;
  start_transfer(grads_.sliced(0, begin, end - begin), host_grads_.sliced(0, begin, end - begin));
  host_parts_.remove(begin, end);
}

// What the host has may have been changed there.
const Tensor& ParameterStore::working_grads() {
  for (const auto& part : host_parts_.parts())
    start_transfer(grads_.sliced(0, part.begin, part.end - part.begin),
                   host_grads_.sliced(0, part.begin, part.end - part.begin));
  host_parts_.clear();
  return grads_;
}

std::span<float> ParameterStore::working_grads(std::int64_t begin, std::int64_t end) {
  return {working_grads().data<float>() + begin, static_cast<std::size_t>(end - begin)};
}

std::shared_ptr<Crossing> ParameterStore::gradients_computed() const {
  return backend(device()).reached();
}

void ParameterStore::begin_backward() { working_grads(); }

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
  host_parts_.clear();
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
