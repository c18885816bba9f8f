#include "engine/autograd/recompute.h"

#include <algorithm>
#include <utility>

#include "engine/autograd/tape.h"

namespace skep {
namespace {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
using Slots = std::vector<std::shared_ptr<GradSlot>>;

thread_local bool running_again = false;

/// Recording, and marked as a repetition, until the object goes.
class Repetition {
 public:
  Repetition() : outer_(std::exchange(running_again, true)) {}
  ~Repetition() { running_again = outer_; }
  Repetition(const Repetition&) = delete;
  Repetition& operator=(const Repetition&) = delete;

 private:
  WithGrad recording_;
  bool outer_;
};

bool contains(const Slots& slots, const std::shared_ptr<GradSlot>& slot) {
  return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

Slots made_on(const Tape& tape) {
  Slots made;
  for (const auto& node : tape.nodes())
    made.insert(made.end(), node->outputs.begin(), node->outputs.end());
  return made;
}

/// The gradients that flow out of what `tape` recorded, last used first as backward meets them.
Slots outside_slots(const Tape& tape, const Slots& made) {
  Slots used;
  for (auto node = tape.nodes().rbegin(); node != tape.nodes().rend(); ++node)
    for (const auto& slot : (*node)->inputs)
      if (slot && !contains(made, slot) && !contains(used, slot)) used.push_back(slot);
  return used;
}

// Its inputs are all gradients that the part adds to. So they stay pending while the inner tape
// uses them, and whoever waits for one is called once, when this node is done.
struct Recompute final : Node {
  Function f;
  std::vector<Saved> kept;
  Slots kept_slots;
  std::vector<std::size_t> results;  // which of f's results are this node's outputs

  void backward(std::span<const Tensor> grads, GradSink&) override {
    std::vector<Tensor> in;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      in.push_back(kept[i].get());
      in.back().set_slot(kept_slots[i]);
    }
    const Repetition again;
    Tape inner;
    const std::vector<Tensor> all = f(in);
    std::vector<Tensor> out;
    for (const std::size_t i : results) out.push_back(all.at(i));
    inner.backward(out, grads);
  }
};

std::unique_ptr<Recompute> make_node(Function f, const std::vector<Tensor>& inputs) {
  auto node = std::make_unique<Recompute>();
  node->set_name("recompute");
  node->f = std::move(f);
  for (const Tensor& x : inputs) {
    node->kept.emplace_back(x);
    node->kept_slots.push_back(x.slot());
  }
  return node;
}

}  // namespace

bool recomputing() { return running_again; }

std::vector<Tensor> recomputed(Function f, const std::vector<Tensor>& inputs) {
  Tape* const outer = Tape::current();
  if (!outer || NoGrad::active()) return f(inputs);
  auto node = make_node(f, inputs);
  std::vector<Tensor> out;
  {
    Tape once;  // only to see whose gradients the part adds to
    out = f(inputs);
    const Slots made = made_on(once);
    node->inputs = outside_slots(once, made);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i].wants_grad() && contains(made, out[i].slot())) node->results.push_back(i);
  }
  if (node->results.empty()) return out;
  for (const std::size_t i : node->results) {
    out[i] = with_grad(std::move(out[i]));
    node->outputs.push_back(out[i].slot());
  }
  outer->record(std::move(node));
  return out;
}

Tensor recomputed(std::function<Tensor(const Tensor&)> f, const Tensor& x) {
  const Function listed = [f = std::move(f)](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{f(in[0])};
  };
  return recomputed(listed, std::vector<Tensor>{x})[0];
}

}  // namespace skep
