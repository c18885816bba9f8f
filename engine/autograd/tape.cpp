#include "engine/autograd/tape.h"

#include <algorithm>

#include "engine/core/background.h"
#include "engine/kernels/copy.h"

namespace skep {
namespace {

// Takes the finished gradients out of a node's output slots, so that their memory is unshared
// again as soon as the node has passed them on.
std::vector<Tensor> take_gradients(Node& node) {
  std::vector<Tensor> grads;
  for (auto& slot : node.outputs) {
    if (slot->written && slot->on_ready) slot->on_ready(*slot);
    grads.push_back(slot->written ? std::move(slot->value) : Tensor{});
    slot->value = {};
    slot->written = false;
  }
  return grads;
}

bool any_defined(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    if (t.defined()) return true;
  return false;
}

bool produces(const Node& node, const std::shared_ptr<GradSlot>& slot) {
  return std::find(node.outputs.begin(), node.outputs.end(), slot) != node.outputs.end();
}

void run(Node& node, std::span<const Tensor> grads) {
  try {
    GradSink sink(node);
    node.backward(grads, sink);
  } catch (const Error& error) {
    throw at_place(node.name(), error);
  }
}

void release_inputs(Node& node) {
  for (auto& slot : node.inputs)
    if (slot && --slot->pending_uses == 0 && slot->is_leaf && slot->on_ready) slot->on_ready(*slot);
}

}  // namespace

Tape::~Tape() {
  current_ = outer_;
  // What never ran backward is no longer pending: the next tape's uses are counted from zero.
  for (auto& node : nodes_)
    for (auto& slot : node->inputs)
      if (slot) --slot->pending_uses;
}

void Tape::record(std::unique_ptr<Node> node) {
  for (auto& slot : node->inputs)
    if (slot) ++slot->pending_uses;
  for (auto& slot : node->outputs) slot->is_leaf = false;
  nodes_.push_back(std::move(node));
}

void Tape::backward(const Tensor& loss, double seed) {
  check(loss.numel() == 1, "backward starts at a scalar, not at shape {}", loss.shape());
  check(loss.wants_grad() &&
            std::any_of(nodes_.rbegin(), nodes_.rend(),
                        [&](const auto& node) { return produces(*node, loss.slot()); }),
        "backward: the loss was not recorded on this tape, or its backward has run already");
  GradSlot& start = *loss.slot();
  start.value = empty(loss.shape(), start.dtype, loss.device());
  fill(start.value, seed);
  start.written = true;
  walk();
}

void Tape::backward(std::span<const Tensor> outputs, std::span<const Tensor> grads) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].wants_grad() || !grads[i].defined()) continue;
    GradSlot& start = *outputs[i].slot();
    check(grads[i].shape() == start.shape, "backward: gradient {} for a tensor of shape {}",
          grads[i].shape(), start.shape);
    start.value = grads[i];
    start.written = true;
  }
  walk();
}

void Tape::walk() {
  const NoGrad pause;
  while (!nodes_.empty()) {
    Node& node = *nodes_.back();
    const std::vector<Tensor> grads = take_gradients(node);
    if (any_defined(grads)) run(node, grads);
    release_inputs(node);
    nodes_.pop_back();
    Background::poll();
  }
}

std::string Tape::to_string() const {
  auto shapes = [](const std::vector<std::shared_ptr<GradSlot>>& slots) {
    std::string text;
    for (const auto& slot : slots) {
      if (!text.empty()) text += ' ';
      text += slot ? skep::to_string(slot->shape) : "-";
    }
    return text;
  };
  std::string text;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    text += fmt::format("{:4} {:<14} {} -> {}\n", i, nodes_[i]->name(), shapes(nodes_[i]->inputs),
                        shapes(nodes_[i]->outputs));
  return text;
}

}  // namespace skep
