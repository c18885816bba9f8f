#pragma once
// Buckets: the flat gradients cut into pieces that travel one after another. Backward completes the
// parameters roughly in the reverse of their declaration, so bucket 0 is the end of the flat block;
// it is small, so that the wires start early (Li et al., VLDB 2020). A parameter is never cut.
#include <vector>

#include "model/parameter_store.h"

namespace skep {

struct Bucket {
  std::int64_t begin = 0, end = 0;      ///< elements of the flat block
  std::vector<std::size_t> parameters;  ///< indices into ParameterStore::list()
};

struct BucketSizes {
  std::int64_t first_elements = 1 << 18;  ///< 1 MiB of fp32
  std::int64_t elements = 25 << 18;
};

/// The same, but no bucket longer than a twentieth of `all` elements unless the first one is: the
/// last bucket leaves when backward is over, and nothing hides its way.
BucketSizes for_overlap(BucketSizes sizes, std::int64_t all);

/// Neighbouring pieces that cover the whole block, last piece first; each closes as soon as it has
/// at least its size. The same on every rank.
std::vector<Bucket> make_buckets(const ParameterStore& store, const BucketSizes& sizes);

}  // namespace skep
