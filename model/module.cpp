#include "model/module.h"

#include "engine/autograd/grad_slot.h"
#include "engine/autograd/recompute.h"

namespace skep {
namespace {

std::string join(const std::string& a, const std::string& b) {
  return a.empty() ? b : b.empty() ? a : a + "." + b;
}

// Calls the probe when the gradient of `out` is complete, after whoever waited for it before.
void watch_gradient(const Tensor& out, std::shared_ptr<const Probe> probe,
                    const std::string& path) {
  if (!probe->backward || !out.wants_grad()) return;
  auto earlier = std::move(out.slot()->on_ready);
  out.slot()->on_ready = [earlier = std::move(earlier), probe = std::move(probe),
                          path](const GradSlot& slot) {
    if (earlier) earlier(slot);
    probe->backward(path, slot.value);
  };
}

}  // namespace

Tensor Module::operator()(const Tensor& x, const Pass& pass) {
  for (const auto& probe : probes_)
    if (probe->enter && !recomputing()) probe->enter(path_);
  return shown(x, forward(x, pass));
}

Tensor Module::shown(const Tensor& in, Tensor out) const {
  for (const auto& probe : probes_) {
    if (probe->forward && !recomputing()) probe->forward(path_, in, out);
    watch_gradient(out, probe, path_);
  }
  return out;
}

void Module::visit(const std::function<void(Module&)>& f) {
  f(*this);
  for (auto& child : children_) child->visit(f);
}

std::vector<Parameter*> Module::parameters() {
  std::vector<Parameter*> all;
  visit([&](Module& m) {
    for (auto& p : m.parameters_) all.push_back(p.get());
  });
  return all;
}

std::vector<Buffer*> Module::buffers() {
  std::vector<Buffer*> all;
  visit([&](Module& m) {
    for (auto& b : m.buffers_) all.push_back(b.get());
  });
  return all;
}

void Module::attach(std::shared_ptr<const Probe> probe) {
  visit([&](Module& m) { m.probes_.push_back(probe); });
}

void Module::detach(const std::shared_ptr<const Probe>& probe) {
  visit([&](Module& m) { std::erase(m.probes_, probe); });
}

const Parameter& Module::parameter(const std::string& name, const Shape& shape, const Init& init) {
  parameters_.push_back(
      std::make_unique<Parameter>(Parameter{join(path_, name), shape, init, {}, {}}));
  return *parameters_.back();
}

const Buffer& Module::buffer(const std::string& name, Tensor value) {
  check(value.is_contiguous(), "buffer {} is not contiguous", name);
  buffers_.push_back(std::make_unique<Buffer>(Buffer{join(path_, name), std::move(value)}));
  return *buffers_.back();
}

void Module::prepend(const std::string& name) {
  visit([&](Module& m) {
    m.path_ = join(name, m.path_);
    for (auto& p : m.parameters_) p->path = join(name, p->path);
    for (auto& b : m.buffers_) b->path = join(name, b->path);
  });
}

}  // namespace skep
