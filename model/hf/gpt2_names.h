#pragma once
// GPT-2's parameters under the names Hugging Face gives them. Its Conv1D layers store weights
// (in, out), the transpose of ours.
#include <string>
#include <string_view>

namespace skep {

struct HfName {
  enum class Layout { same, transposed };
  std::string name;  ///< without the prefix "transformer."
  Layout layout = Layout::same;
};

/// The name of the parameter at `path` ("blocks.3.attention.qkv.weight" ->
/// "h.3.attn.c_attn.weight").
HfName gpt2_hf_name(std::string_view path);

/// Tensors of published files that hold no parameter (the causal mask as a buffer).
bool is_gpt2_buffer(std::string_view name);

}  // namespace skep
