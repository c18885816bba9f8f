// Every op of the table, by kind: gradients, shapes, narrow types, any stride, accumulation. An op
// gets these tests by having an entry.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "engine/autograd/gradcheck.h"
#include "engine/ops/op_table.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

// Calls f(entry, sample, label) for every sample of every op.
template <class F>
void for_each_sample(F f) {
  for (const OpEntry* entry : op_table())
    for (std::size_t i = 0; i < entry->samples().size(); ++i)
      f(*entry, entry->samples()[i], entry->name() + " sample " + std::to_string(i));
}

// A sample's inputs, the same numbers in every type, laid out in one way.
std::vector<Tensor> inputs_of(const OpSample& sample, DType dtype,
                              Layout layout = Layout::contiguous) {
  std::vector<Tensor> inputs;
  for (const Tensor& t : make_inputs(sample, DType::bf16, 11)) {
    if (!t.defined() || t.dtype() == DType::i32) {
      inputs.push_back(laid_out(t, layout));
    } else {
      inputs.push_back(with_grad(laid_out(converted(t, dtype), layout)));
    }
  }
  return inputs;
}

TEST_CASE("every gradient agrees with finite differences") {
  REQUIRE(op_table().size() >= 18);
  for_each_sample([](const OpEntry&, const OpSample& sample, const std::string& label) {
    const auto inputs = make_inputs(sample, DType::f64, 5);
    const GradcheckResult result = gradcheck(sample.call, inputs);
    INFO(label << ": " << result.where);
    CHECK(result.elements > 0);
    CHECK(result.worst_error < 1e-7);
  });
}

TEST_CASE("results have the shapes of the shape rule") {
  for_each_sample([](const OpEntry&, const OpSample& sample, const std::string& label) {
    INFO(label);
    for (DType dtype : float_types) {
      const auto outputs = sample.call(inputs_of(sample, dtype));
      REQUIRE(outputs.size() == sample.result_shapes.size());
      for (std::size_t k = 0; k < outputs.size(); ++k)
        CHECK(to_string(outputs[k].shape()) == to_string(sample.result_shapes[k]));
    }
  });
}

TEST_CASE("narrow types agree with fp64") {
  for_each_sample([](const OpEntry&, const OpSample& sample, const std::string& label) {
    const Outcome exact = run(sample.call, inputs_of(sample, DType::f64));
    for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      INFO(label << " in " << name_of(dtype));
      CHECK(relative_error(run(sample.call, inputs_of(sample, dtype)), exact) < rounding_of(dtype));
    }
  });
}

TEST_CASE("strided operands and strided gradients give what contiguous ones give") {
  for_each_sample([](const OpEntry&, const OpSample& sample, const std::string& label) {
    for (DType dtype : float_types) {
      const Outcome plain = run(sample.call, inputs_of(sample, dtype));
      for (Layout layout : strided_layouts) {
        INFO(label << " in " << name_of(dtype) << ", layout " << static_cast<int>(layout));
        CHECK(relative_error(run(sample.call, inputs_of(sample, dtype, layout)), plain) <=
              rounding_of(dtype));
        CHECK(relative_error(run(sample.call, inputs_of(sample, dtype), layout), plain) <=
              rounding_of(dtype));
      }
    }
  });
}

TEST_CASE("operands broadcast by zero strides give what copies of them give") {
  for_each_sample([](const OpEntry&, const OpSample& sample, const std::string& label) {
    for (DType dtype : float_types) {
      for (int dim = 0; dim < 4; ++dim) {
        std::vector<Tensor> views, copies;
        for (const Tensor& t : inputs_of(sample, dtype)) {
          if (!t.defined() || t.rank() <= dim || t.size(dim) == 0) {
            views.push_back(t);
            copies.push_back(t.defined() && t.wants_grad() ? with_grad(t) : t);
            continue;
          }
          const Tensor view = t.sliced(dim, 0, 1).expanded(t.shape());
          Tensor plain = empty(t.shape(), t.dtype());
          copy(plain, view);
          views.push_back(t.wants_grad() ? with_grad(view) : view);
          copies.push_back(t.wants_grad() ? with_grad(plain) : plain);
        }
        INFO(label << " in " << name_of(dtype) << ", dimension " << dim);
        CHECK(relative_error(run(sample.call, views), run(sample.call, copies)) <=
              rounding_of(dtype));
      }
    }
  });
}

TEST_CASE("a gradient does not depend on who else wants one") {
  for_each_sample([](const OpEntry&, const OpSample& sample, const std::string& label) {
    const Outcome all = run(sample.call, inputs_of(sample, DType::f64));
    for (std::size_t only = 0; only < sample.inputs.size(); ++only) {
      if (!sample.inputs[only].differentiable()) continue;
      auto inputs = inputs_of(sample, DType::f64);
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (i != only) inputs[i].set_slot(nullptr);
      const Outcome one = run(sample.call, inputs);
      INFO(label << ", input " << only);
      CHECK(relative_error(one.grads[only], all.grads[only]) < 1e-14);
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (i != only) CHECK(one.grads[i].empty());
    }
  });
}

TEST_CASE("bound memory is overwritten by the first backward and added to by the second") {
  for_each_sample([](const OpEntry&, const OpSample& sample, const std::string& label) {
    for (DType dtype : float_types) {
      const Outcome once = run(sample.call, inputs_of(sample, dtype));
      const auto inputs = inputs_of(sample, dtype);
      for (const Tensor& t : inputs)
        if (t.defined() && t.wants_grad()) {
          t.slot()->value = empty(t.shape(), dtype);
          t.slot()->bound = true;
          fill(t.slot()->value, NAN);
        }
      INFO(label << " in " << name_of(dtype));
      CHECK(relative_error(run(sample.call, inputs), once) <= rounding_of(dtype));
      Outcome twice = run(sample.call, inputs);
      for (Values& grad : twice.grads)
        for (double& g : grad) g /= 2;
      CHECK(relative_error(twice, once) <= rounding_of(dtype));
    }
  });
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("every op file has an entry of its own name, and every entry samples") {
  std::set<std::string> names, files;
  for (const OpEntry* entry : op_table()) {
    CHECK(names.insert(entry->name()).second);
    CHECK(!entry->samples().empty());
    CHECK(!entry->formula().empty());
  }
  const std::set<std::string> no_op = {"op_table", "parity"};  // the table, and what compares
  for (const auto& file : std::filesystem::directory_iterator(SKEP_SOURCE_DIR "/engine/ops")) {
    const std::string stem = file.path().stem().string();
    if (file.path().extension() != ".cpp" || no_op.count(stem)) continue;
    files.insert(stem);
    CHECK(contains(text_of(file.path()), "const OpEntry entry(\"" + stem + "\""));
  }
  CHECK(files == names);
}

}  // namespace
}  // namespace skep::testing
