#include "train/health/first_non_finite.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/autograd/grad_slot.h"
#include "engine/autograd/tape.h"
#include "engine/backends/transfer.h"
#include "engine/kernels/copy.h"

namespace skep {
namespace {

bool all_finite(const Tensor& t) {
  if (!t.defined() || !is_float(t.dtype())) return true;
  const Tensor flat = contiguous(to_device(t, {}));
  return with_float(t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = flat.data<T>();
    return std::all_of(x, x + flat.numel(),
                       [](T value) { return std::isfinite(static_cast<double>(value)); });
  });
}

std::string parent_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == path.npos ? "" : path.substr(0, dot);
}

std::string place(const std::string& path) { return path.empty() ? "the model" : path; }

/// The op on the current tape that computed `t`.
std::string producer_of(const Tensor& t) {
  for (const auto& node : Tape::current()->nodes())
    if (std::find(node->outputs.begin(), node->outputs.end(), t.slot()) != node->outputs.end())
      return std::string(node->name());
  return "no op";
}

/// While it lives, the parameters' gradients tell `f` when they are complete, and nobody else.
class Listening {
 public:
  Listening(ParameterStore& store, const std::function<void(const ParameterStore::Entry&)>& f)
      : store_(store) {
    for (const auto& entry : store.list()) {
      earlier_.push_back(std::move(entry.value.slot()->on_ready));
      entry.value.slot()->on_ready = [&entry, f](const GradSlot& slot) {
        if (slot.written) f(entry);
      };
    }
  }
  ~Listening() {
    for (std::size_t i = 0; i < earlier_.size(); ++i)
      store_.list()[i].value.slot()->on_ready = std::move(earlier_[i]);
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  ParameterStore& store_;
  std::vector<std::function<void(const GradSlot&)>> earlier_;
};

class Search {
 public:
  explicit Search(const Suspect& suspect) : suspect_(suspect) {
    probe_->forward = [this](const std::string& path, const Tensor& in, const Tensor& out) {
      see_output(path, in, out);
    };
    probe_->backward = [this](const std::string& path, const Tensor& grad) {
      see_gradient("that reaches " + place(path), grad);
    };
    suspect_.model.attach(probe_);
  }
  ~Search() { suspect_.model.detach(probe_); }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  std::string run(const Batch& batch, const Pass& pass) {
    const Listening parameters(suspect_.parameters, [this](const ParameterStore::Entry& entry) {
      see_gradient("of " + entry.path, entry.grad);
    });
    Tape tape;
    const Tensor loss = suspect_.objective.loss(suspect_.model, batch, pass);
    if (found_.empty() && !all_finite(loss)) blame("the loss", producer_of(loss));
    if (found_.empty()) tape.backward(loss, suspect_.loss_scale);
    return found_;
  }

 private:
  // What lies between two modules belongs to the one around them.
  void see_output(const std::string& path, const Tensor& in, const Tensor& out) {
    if (!found_.empty()) return;
    if (!all_finite(in))
      blame(place(parent_of(path)), producer_of(in));
    else if (!all_finite(out))
      blame(place(path), producer_of(out) + weights_of(path));
  }

  void see_gradient(const std::string& which, const Tensor& grad) {
    if (found_.empty() && !all_finite(grad))
      found_ = "every output is finite; the gradient " + which + " is the first that is not";
  }

  void blame(const std::string& where, const std::string& op) {
    found_ = where + " (" + op + ") is the first output that is not finite";
  }

  std::string weights_of(const std::string& path) const {
    for (const auto& entry : suspect_.parameters.list())
      if (parent_of(entry.path) == path && !all_finite(entry.value))
        return ", whose " + entry.path.substr(path.size() + 1) + " is not finite";
    return "";
  }

  const Suspect& suspect_;
  std::shared_ptr<Probe> probe_ = std::make_shared<Probe>();
  std::string found_;
};

}  // namespace

std::string first_non_finite(const Suspect& suspect, const Batch& batch, const Pass& pass) {
  Pass kept = pass;  // outputs shall lie on the tape that is looked at
  kept.activations = Pass::Activations::keep;
  return Search(suspect).run(batch, kept);
}

}  // namespace skep
