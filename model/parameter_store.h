#pragma once
// All parameters of a run in one flat block, all gradients in another of the same layout. Sync,
// clipping, optimizers and checkpoints are loops over these. Each parameter starts on a 64-byte
// boundary; the gaps are zero and stay zero.
//
// On a GPU both blocks are there twice: at work, where backward and the optimizer run, and on the
// host, where messages and files are made. Asking for the one brings over what was written to the
// other; on the CPU they are one block and nothing moves.
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/optim/optimizer.h"
#include "model/host_parts.h"
#include "model/module.h"

namespace skep {

class ParameterStore {
 public:
  /// Where one parameter lies in the flat blocks. Counts are of elements.
  struct Entry {
    std::string path;
    Shape shape;
    std::int64_t begin = 0, end = 0;
    Tensor value, grad;  ///< views of the blocks at work, in the parameter's shape
  };

  /// Gives every parameter below `root` its memory and its first value. masters: fp32, or fp64 for
  /// checks. compute: the type products read; absent: the masters' own.
  ParameterStore(Module& root, std::uint64_t seed, DType masters = DType::f32,
                 std::optional<DType> compute = {}, Device device = {});
  /// The same for several modules, one after another; a null one has none.
  ParameterStore(std::span<Module* const> roots, std::uint64_t seed, DType masters = DType::f32,
                 std::optional<DType> compute = {}, Device device = {});

  Device device() const { return values_.device(); }
  /// On the host. After a change of the values, commit() them; gradients are asked for again after
  /// each backward.
  const Tensor& values() const;
  const Tensor& grads() const;
  /// Of the host's gradients only the elements [begin, end), whose backward is complete.
  std::span<float> grads(std::int64_t begin, std::int64_t end) const;
  /// Starts to bring that part over, beside other work; grads() of the same part, asked for when it
  /// is done, does not wait.
  std::shared_ptr<Crossing> bring_gradients(std::int64_t begin, std::int64_t end) const;
  /// What the host has made of that part starts to go back, beside other work.
  void return_gradients(std::int64_t begin, std::int64_t end);
  /// For who reaches a GPU's memory by itself: the part where it is computed, once what was asked
  /// for so far is done.
  std::span<float> working_grads(std::int64_t begin, std::int64_t end);
  std::shared_ptr<Crossing> gradients_computed() const;
  /// One parameter of values(), in its shape.
  Tensor host_value(const Entry& entry) const;
  /// At work, for an update there: afterwards commit().
  const Tensor& working_values();
  const Tensor& working_grads();
  const std::vector<Entry>& list() const { return entries_; }
  /// Those of the first module: the model.
  std::span<const Entry> of_model() const { return std::span(entries_).first(model_entries_); }
  /// The entry of a path; throws Error(bug) when there is none.
  const Entry& at(std::string_view path) const;
  /// The type products read.
  DType compute_type() const { return compute_.defined() ? compute_.dtype() : values_.dtype(); }
  std::int64_t size() const { return values_.numel(); }  ///< with gaps
  std::size_t bytes() const { return values_.bytes(); }  ///< of the masters
  std::int64_t parameter_count() const;                  ///< without

  /// Ranges by decay rule (two or more dimensions decay), neighbours merged.
  const std::vector<FlatRange>& decay_ranges() const { return decay_ranges_; }

  /// After any change of the values: refreshes what was made from them.
  void commit();

  /// Before the first backward of an update: every gradient is empty again. Costs no pass.
  void clear_gradients();
  /// Before each backward: from here on gradients change at work.
  void begin_backward();
  /// After the last: zeroes what nobody wrote, and returns the paths concerned.
  std::vector<std::string> zero_unwritten();
  /// f(index into list()) once per parameter per backward, as soon as its gradient is complete.
  void on_gradient_ready(std::function<void(std::size_t)> f);

 private:
  bool on_host() const { return values_.device().kind == Device::Kind::cpu; }
  Tensor values_, grads_;  // at work
  Tensor compute_;         // the narrow copy, in the same layout; or undefined
  // What the host has of both; brought up to date when somebody looks.
  mutable Tensor host_values_, host_grads_;
  mutable bool host_values_current_ = true;
  mutable HostParts host_parts_;  // of the gradients: brought over since the last backward
  std::vector<Entry> entries_;
  std::size_t model_entries_ = 0;
  std::vector<FlatRange> decay_ranges_;
};

}  // namespace skep
