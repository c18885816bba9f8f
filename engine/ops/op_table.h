#pragma once
// The op table: name, formula, shape rule and sample arguments of every op. It drives the gradient
// check, later the CPU/GPU comparison, and the printed catalogue. An entry's types follow from the
// op's signature: a wrong shape rule or sample does not compile, and there is no entry without a
// sample.
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "engine/core/tensor.h"

namespace skep {

/// How to make one tensor argument of a sample.
struct Input {
  enum class Kind { absent, normal, ids, mask } kind = Kind::normal;
  Shape shape;
  std::int64_t below = 0;  ///< ids are drawn from [-1 or 0, below)
  bool differentiable() const { return kind == Kind::normal; }
};
inline Input normal(Shape shape) { return {Input::Kind::normal, shape, 0}; }
inline Input absent() { return {Input::Kind::absent, {}, 0}; }
/// int32 in [0, below).
inline Input ids(Shape shape, std::int64_t below) { return {Input::Kind::ids, shape, below}; }
/// int32 0 or 1.
inline Input zero_one(Shape shape) { return {Input::Kind::mask, shape, 2}; }

namespace detail {

// What stands in a sample, and what reaches a shape rule, for an argument type of an op.
template <class Arg>
struct Traits {
  using Sample = std::decay_t<Arg>;
  using Rule = Arg;
  static const Sample& argument(const Sample& s, const std::vector<Tensor>&, std::size_t&) {
    return s;
  }
  static const Sample& rule_argument(const Sample& s) { return s; }
  static void collect(const Sample&, std::vector<Input>&) {}
};
template <>
struct Traits<const Tensor&> {
  using Sample = Input;
  using Rule = const Shape&;
  static const Tensor& argument(const Sample&, const std::vector<Tensor>& in, std::size_t& next) {
    return in[next++];
  }
  static const Shape& rule_argument(const Sample& s) { return s.shape; }
  static void collect(const Sample& s, std::vector<Input>& inputs) { inputs.push_back(s); }
};
template <class Result>
struct ShapeOf {
  using type = Shape;
};
template <>
struct ShapeOf<std::vector<Tensor>> {
  using type = std::vector<Shape>;
};

inline std::vector<Tensor> as_list(Tensor t) { return {std::move(t)}; }
inline std::vector<Tensor> as_list(std::vector<Tensor> t) { return t; }
inline std::vector<Shape> as_list(const Shape& s) { return {s}; }
inline std::vector<Shape> as_list(std::vector<Shape> s) { return s; }

}  // namespace detail

/// One set of arguments for an op, types erased.
struct OpSample {
  std::vector<Input> inputs;                                            ///< the tensor arguments
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> call;  ///< runs the op on them
  std::vector<Shape> result_shapes;                                     ///< by the shape rule
};

class OpEntry {
 public:
  template <class Result, class... Args>
  using Rule = typename detail::ShapeOf<Result>::type (*)(typename detail::Traits<Args>::Rule...);
  template <class... Args>
  using Sample = std::tuple<typename detail::Traits<Args>::Sample...>;

  /// Registers itself; must have static lifetime.
  template <class Result, class... Args>
  OpEntry(std::string name, std::string formula, Result (*op)(Args...),
          std::type_identity_t<Rule<Result, Args...>> rule,
          std::type_identity_t<Sample<Args...>> sample,
          std::initializer_list<std::type_identity_t<Sample<Args...>>> more = {})
      : name_(std::move(name)), formula_(std::move(formula)) {
    add<Result, Args...>(op, rule, sample);
    for (const auto& s : more) add<Result, Args...>(op, rule, s);
    enlist();
  }
  OpEntry(const OpEntry&) = delete;

  const std::string& name() const { return name_; }
  const std::string& formula() const { return formula_; }
  const std::vector<OpSample>& samples() const { return samples_; }

 private:
  template <class Result, class... Args>
  void add(Result (*op)(Args...), Rule<Result, Args...> rule, const Sample<Args...>& sample) {
    OpSample erased;
    std::apply([&](const auto&... s) { (detail::Traits<Args>::collect(s, erased.inputs), ...); },
               sample);
    erased.result_shapes = detail::as_list(std::apply(
        [&](const auto&... s) { return rule(detail::Traits<Args>::rule_argument(s)...); }, sample));
    erased.call = [op, sample](const std::vector<Tensor>& in) {
      std::size_t next = 0;
      return std::apply(
          [&](const auto&... s) {
            // Braces fix the order in which tensor arguments are taken.
            std::tuple<decltype(detail::Traits<Args>::argument(s, in, next))...> arguments{
                detail::Traits<Args>::argument(s, in, next)...};
            return detail::as_list(std::apply(op, arguments));
          },
          sample);
    };
    samples_.push_back(std::move(erased));
  }
  void enlist();

  std::string name_, formula_;
  std::vector<OpSample> samples_;
};

/// Every op of this binary, sorted by name.
std::vector<const OpEntry*> op_table();

/// The tensors of a sample in `dtype`, drawn by `seed`; differentiable ones want a gradient.
std::vector<Tensor> make_inputs(const OpSample& sample, DType dtype, std::uint64_t seed);

}  // namespace skep
