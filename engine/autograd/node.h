#pragma once
// Node: one application of an op on the tape. It holds what backward needs (Saved tensors) and the
// gradient slots of its inputs and outputs, not the tensors themselves: an activation nobody saved
// is freed as soon as the forward pass lets go of it.
#include <span>
#include <string_view>
#include <vector>

#include "engine/autograd/grad_slot.h"
#include "engine/kernels/launch.h"

namespace skep {

class Node;

/// A tensor kept for backward, with the version its memory had. get() refuses if the memory has
/// been written since: the gradient would be silently wrong.
class Saved {
 public:
  Saved() = default;
  Saved(const Tensor& t) : tensor_(t), version_(t.defined() ? t.storage()->version() : 0) {
    tensor_.set_slot(nullptr);
  }
  const Tensor& get() const;

 private:
  Tensor tensor_;
  std::uint64_t version_ = 0;
};

/// Hands out where the gradients of a node's inputs go.
class GradSink {
 public:
  explicit GradSink(Node& node) : node_(node) {}

  bool wants(int input) const;
  /// Memory of the input's shape to write completely, or to add to, as `write` says. Contiguous
  /// except where bound memory is not.
  Destination slot(int input);
  /// Hands over a finished gradient: adopted when first, added otherwise. A gradient of the
  /// broadcast shape is first summed to the input's own.
  void give(int input, const Tensor& grad);

 private:
  Node& node_;
};

class Node {
 public:
  /// Ops of mixed precision hide this with `yes` and check their types themselves.
  enum class MixesTypes { no, yes };
  static constexpr MixesTypes mixes_types = MixesTypes::no;

  Node() { ++live_; }
  Node(const Node& o) : inputs(o.inputs), outputs(o.outputs), op_name_(o.op_name_) { ++live_; }
  Node& operator=(const Node&) = delete;
  virtual ~Node() { --live_; }

  std::string_view name() const { return op_name_; }
  void set_name(std::string_view op_name) { op_name_ = op_name; }
  /// In forward: will backward be asked for? (Inputs are known before forward runs.)
  bool recording() const { return !inputs.empty(); }
  /// `grads`: one per output, undefined where nothing flowed back.
  virtual void backward(std::span<const Tensor> grads, GradSink& sink) = 0;

  std::vector<std::shared_ptr<GradSlot>> inputs;  ///< null where no gradient is wanted
  std::vector<std::shared_ptr<GradSlot>> outputs;

  /// Nodes alive on this thread: 0 after each step, or something leaks.
  static std::int64_t live() { return live_; }

 private:
  std::string_view op_name_;
  inline static thread_local std::int64_t live_ = 0;
};

}  // namespace skep
