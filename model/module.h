#pragma once
// Module: a named part of a model with parameters and children. Paths ("blocks.3.attention.qkv")
// are stable: checkpoints, probes and messages use them. A module computes in forward(); callers
// use operator(), which also tells the probes.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/tensor.h"
#include "model/initializers.h"

namespace skep {

class KvCache;

/// What a forward pass needs to know beyond its input.
struct Pass {
  enum class Mode { train, evaluate } mode = Mode::evaluate;
  std::uint64_t dropout_key = 0;   ///< masks are functions of (key, path, global sample, element)
  std::uint64_t first_sample = 0;  ///< global index of the batch's first sample
  KvCache* cache = nullptr;        ///< generation: keys and values of earlier positions
  /// What a block computes inside: kept for backward, or dropped and computed again there.
  enum class Activations { keep, recompute } activations = Activations::keep;
};

/// Looks at what flows through modules. Each function may be empty.
struct Probe {
  std::function<void(const std::string& path)> enter;  ///< before the module computes
  std::function<void(const std::string& path, const Tensor& in, const Tensor& out)> forward;
  std::function<void(const std::string& path, const Tensor& grad_out)> backward;
};

/// One parameter as its module declared it; the ParameterStore gives it memory. In mixed precision
/// `compute` is the narrow copy that products read; otherwise it is `value` itself. Both gather
/// their gradient in one place.
struct Parameter {
  std::string path;
  Shape shape;
  Init init;
  Tensor value;
  Tensor compute;
};

/// What a module reads in forward besides parameters, such as a table: no gradient reaches it.
/// Checkpoints hold it, and training can give every rank rank 0's.
struct Buffer {
  std::string path;
  Tensor value;  ///< contiguous
};

class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  Tensor operator()(const Tensor& x, const Pass& pass);

  const std::string& path() const { return path_; }
  /// This module and all below it, parents first, in the order they were declared.
  void visit(const std::function<void(Module&)>& f);
  /// Every parameter at or below this module, in the order declared.
  std::vector<Parameter*> parameters();
  /// The same for buffers.
  std::vector<Buffer*> buffers();
  /// Attaches a probe here and below.
  void attach(std::shared_ptr<const Probe> probe);
  /// Takes it away again.
  void detach(const std::shared_ptr<const Probe>& probe);

 protected:
  virtual Tensor forward(const Tensor& x, const Pass& pass) = 0;

  /// Shows `out`, computed from `in`, to the probes: for modules that can be called in another way
  /// too.
  Tensor shown(const Tensor& in, Tensor out) const;

  /// Declares a parameter; usable once a ParameterStore has been built over the root.
  const Parameter& parameter(const std::string& name, const Shape& shape, const Init& init);

  /// Declares a buffer, with its first value.
  const Buffer& buffer(const std::string& name, Tensor value);

  /// Makes a child module of type M, constructed with `args`, known under this module's path.
  template <class M, class... Args>
  M& child(const std::string& name, Args&&... args) {
    auto made = std::make_unique<M>(std::forward<Args>(args)...);
    M& m = *made;
    m.prepend(name);
    children_.push_back(std::move(made));
    return m;
  }

 private:
  void prepend(const std::string& name);

  std::string path_;
  std::vector<std::unique_ptr<Module>> children_;
  std::vector<std::unique_ptr<Parameter>> parameters_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<std::shared_ptr<const Probe>> probes_;
};

}  // namespace skep
