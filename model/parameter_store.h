#pragma once
// All parameters of a run in one flat block, all gradients in another of the same layout. Sync,
// clipping, optimizers and checkpoints are loops over these. Each parameter starts on a 64-byte
// boundary; the gaps are zero and stay zero.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/optim/optimizer.h"
#include "model/module.h"

namespace skep {

class ParameterStore {
 public:
  /// Where one parameter lies in the flat blocks. Counts are of elements.
  struct Entry {
    std::string path;
    Shape shape;
    std::int64_t begin = 0, end = 0;
    Tensor value, grad;  ///< views of the blocks, in the parameter's shape
  };

  /// Gives every parameter below `root` its memory and its first value. masters: fp32, or fp64 for
  /// checks. compute: the type products read; absent: the masters' own.
  ParameterStore(Module& root, std::uint64_t seed, DType masters = DType::f32,
                 std::optional<DType> compute = {});
  /// The same for several modules, one after another; a null one has none.
  ParameterStore(std::span<Module* const> roots, std::uint64_t seed, DType masters = DType::f32,
                 std::optional<DType> compute = {});

  const Tensor& values() const { return values_; }
  const Tensor& grads() const { return grads_; }
  const std::vector<Entry>& list() const { return entries_; }
  /// Those of the first module: the model.
  std::span<const Entry> of_model() const { return std::span(entries_).first(model_entries_); }
  /// The entry of a path; throws Error(bug) when there is none.
  const Entry& at(std::string_view path) const;
  /// The type products read.
  DType compute_type() const { return compute_.defined() ? compute_.dtype() : values_.dtype(); }
  std::int64_t size() const { return values_.numel(); }  ///< with gaps
  std::int64_t parameter_count() const;                  ///< without

  /// Ranges by decay rule (two or more dimensions decay), neighbours merged.
  const std::vector<FlatRange>& decay_ranges() const { return decay_ranges_; }

  /// After any change of the values: refreshes the narrow copy, where there is one.
  void commit();

  /// Before the first backward of an update: every gradient is empty again. Costs no pass.
  void clear_gradients();
  /// After the last: zeroes what nobody wrote, and returns the paths concerned.
  std::vector<std::string> zero_unwritten();
  /// f(index into list()) once per parameter per backward, as soon as its gradient is complete.
  void on_gradient_ready(std::function<void(std::size_t)> f);

 private:
  Tensor values_, grads_;
  Tensor compute_;  // the narrow copy, in the same layout; or undefined
  std::vector<Entry> entries_;
  std::size_t model_entries_ = 0;
  std::vector<FlatRange> decay_ranges_;
};

}  // namespace skep
