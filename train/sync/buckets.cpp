#include "train/sync/buckets.h"

#include <algorithm>

namespace skep {

BucketSizes for_overlap(BucketSizes sizes, std::int64_t all) {
  sizes.elements = std::min(sizes.elements, std::max(sizes.first_elements, all / 20));
  return sizes;
}

std::vector<Bucket> make_buckets(const ParameterStore& store, const BucketSizes& sizes) {
  std::vector<Bucket> buckets;
  std::int64_t end = store.size();
  Bucket open;
  for (std::size_t i = store.list().size(); i-- > 0;) {
    open.parameters.push_back(i);
    const std::int64_t begin = i == 0 ? 0 : store.list()[i].begin;
    const std::int64_t wanted = buckets.empty() ? sizes.first_elements : sizes.elements;
    if (end - begin < wanted && i != 0) continue;
    open.begin = begin, open.end = end;
    buckets.push_back(std::move(open));
    open = {};
    end = begin;
  }
  return buckets;
}

}  // namespace skep
