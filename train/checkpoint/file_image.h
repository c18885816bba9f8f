#pragma once
// A file that is yet to be written, by one rank or by several: its bytes are made range by range,
// so that each rank makes only those it writes.
#include <span>
#include <string>
#include <vector>

#include "model/hf/model_folder.h"

namespace skep {

class FileImage {
 public:
  /// A text.
  FileImage(std::string name, std::string text);
  /// A safetensors file.
  FileImage(std::string name, std::vector<TensorSource> tensors, const Metadata& metadata);

  const std::string& name() const { return name_; }
  std::size_t bytes() const { return bytes_; }
  /// Fills `out` with the bytes from `begin` on.
  void copy(std::size_t begin, std::span<std::byte> out) const;

 private:
  std::string name_;
  std::string head_;
  std::vector<TensorSource> tensors_;  // in the file's order
  std::size_t bytes_;
};

}  // namespace skep
