#include "train/checkpoint/file_image.h"

#include <algorithm>
#include <map>
#include <utility>

namespace skep {
namespace {

// Copies what `piece`, which begins at `at` of the file, has in [begin, begin + out.size()).
void copy_overlap(std::span<const std::byte> piece, std::size_t at, std::size_t begin,
                  std::span<std::byte> out) {
  const std::size_t from = std::max(at, begin),
                    to = std::min(at + piece.size(), begin + out.size());
  if (from >= to) return;
  std::copy_n(piece.data() + (from - at), to - from, out.data() + (from - begin));
}

}  // namespace

FileImage::FileImage(std::string name, std::string text)
    : name_(std::move(name)), head_(std::move(text)), bytes_(head_.size()) {}

FileImage::FileImage(std::string name, std::vector<TensorSource> tensors, const Metadata& metadata)
    : name_(std::move(name)) {
  std::vector<TensorLayout> layouts;
  std::map<std::string, TensorSource> by_name;
  for (TensorSource& tensor : tensors) {
    layouts.push_back(tensor.layout);
    by_name[tensor.layout.name] = std::move(tensor);
  }
  head_ = safetensors_head(name_, layouts, metadata);
  bytes_ = head_.size();
  for (const TensorLayout& layout : layouts) {
    tensors_.push_back(std::move(by_name[layout.name]));
    bytes_ += layout.bytes;
  }
}

void FileImage::copy(std::size_t begin, std::span<std::byte> out) const {
  copy_overlap(std::as_bytes(std::span(head_)), 0, begin, out);
  std::size_t at = head_.size();
  for (const auto& [layout, elements] : tensors_) {
    if (at < begin + out.size() && begin < at + layout.bytes) {
      const Tensor t = elements();
      copy_overlap({static_cast<const std::byte*>(t.raw()), layout.bytes}, at, begin, out);
    }
    at += layout.bytes;
  }
}

}  // namespace skep
