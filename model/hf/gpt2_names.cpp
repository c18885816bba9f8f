#include "model/hf/gpt2_names.h"

#include <array>
#include <utility>

#include "engine/core/error.h"

namespace skep {
namespace {

struct Part {
  std::string_view ours, theirs;
  HfName::Layout layout;
};

constexpr auto same = HfName::Layout::same, transposed = HfName::Layout::transposed;

// Parts of a block, then what stands outside the blocks.
constexpr std::array<Part, 6> block_parts{{{"norm_1", "ln_1", same},
                                           {"attention.qkv", "attn.c_attn", transposed},
                                           {"attention.out", "attn.c_proj", transposed},
                                           {"norm_2", "ln_2", same},
                                           {"mlp.up", "mlp.c_fc", transposed},
                                           {"mlp.down", "mlp.c_proj", transposed}}};
constexpr std::array<Part, 4> outer_parts{{{"token_embedding", "wte", same},
                                           {"position_embedding", "wpe", same},
                                           {"final_norm", "ln_f", same},
                                           {"head", "lm_head", same}}};

template <std::size_t N>
HfName translate(const std::array<Part, N>& parts, std::string_view module, std::string_view leaf,
                 std::string_view path) {
  for (const Part& part : parts)
    if (part.ours == module)
      return {fmt::format("{}.{}", part.theirs, leaf), leaf == "weight" ? part.layout : same};
  fail(ErrorKind::bug, "gpt2 has no parameter {}", path);
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

HfName gpt2_hf_name(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  check(dot != std::string_view::npos, "gpt2 has no parameter {}", path);
  const std::string_view module = path.substr(0, dot), leaf = path.substr(dot + 1);
  constexpr std::string_view blocks = "blocks.";
  if (module.substr(0, blocks.size()) != blocks) return translate(outer_parts, module, leaf, path);
  const std::size_t end = module.find('.', blocks.size());
  HfName name = translate(block_parts, module.substr(end + 1), leaf, path);
  name.name = fmt::format("h.{}.{}", module.substr(blocks.size(), end - blocks.size()), name.name);
  return name;
}

bool is_gpt2_buffer(std::string_view name) {
  return ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias");
}

}  // namespace skep
