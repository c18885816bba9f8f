#include "model/kv_cache.h"

#include "engine/kernels/copy.h"

namespace skep {
namespace {

// Copies `part` behind the first `length` positions of `all`, and returns what is filled.
Tensor append_to(Tensor& all, const Tensor& part, std::int64_t length, std::int64_t capacity) {
  if (!all.defined())
    all = empty({part.size(0), capacity, part.size(2), part.size(3)}, part.dtype(), part.device());
  check(length + part.size(1) <= all.size(1), "kv cache: {} positions do not fit a context of {}",
        length + part.size(1), all.size(1));
  copy(all.sliced(1, length, part.size(1)), part);
  return all.sliced(1, 0, length + part.size(1));
}

}  // namespace

KvCache::Pair KvCache::append(std::int64_t layer, const Tensor& key, const Tensor& value,
                              std::int64_t capacity) {
  Pair& kept = layers_.at(layer);
  return {append_to(kept.key, key, length_, capacity),
          append_to(kept.value, value, length_, capacity)};
}

}  // namespace skep
