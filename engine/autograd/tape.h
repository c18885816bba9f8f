#pragma once
// Tape: the ops of one forward pass in the order they ran. Backward walks it once in reverse, in a
// loop: depth costs no stack, and each node is freed as soon as it has run, with what it saved.
#include <memory>
#include <string>
#include <vector>

#include "engine/autograd/no_grad.h"
#include "engine/autograd/node.h"

namespace skep {

/// While a Tape lives it records the ops of its thread (the innermost one, when they nest).
class Tape {
 public:
  Tape() : outer_(current_) { current_ = this; }
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  static Tape* current() { return current_; }

  void record(std::unique_ptr<Node> node);
  /// Gradients of `seed` * `loss` (a scalar recorded here) into the slots of all that want one.
  /// Consumes the tape. Whatever a node throws names its op.
  void backward(const Tensor& loss, double seed = 1);
  /// The same from several tensors of any shape, given their gradients; undefined where none flows.
  void backward(std::span<const Tensor> outputs, std::span<const Tensor> grads);

  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  std::string to_string() const;  ///< one line a node: op, input shapes, output shapes

 private:
  void walk();

  inline static thread_local Tape* current_ = nullptr;
  Tape* outer_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace skep
