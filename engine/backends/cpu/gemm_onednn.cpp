// oneDNN behind the gemm seam. Making a primitive takes 100-250 us, running a cached one a third
// of a microsecond of overhead: so each thread keeps the primitives it has made, with their memory
// objects, and one scratch buffer. A training step needs some dozens of them; generation needs new
// ones for every length of its cache, so when they are too many all are forgotten.
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "engine/backends/cpu/gemm.h"
#include "engine/kernels/copy.h"

namespace skep::cpu {
namespace {

dnnl::engine& engine() {
  static auto* const instance = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *instance;
}

dnnl::memory::data_type type_of(DType t) {
  return t == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

/// Everything oneDNN compiles into a primitive.
struct Key {
  std::int64_t m, n, k, a_row, a_column, b_row, b_column, c_row;
  DType a_type, c_type;
  float alpha;
  int accumulate, bias;

  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::size_t hash = 1469598103934665603ull;
    auto mix = [&](std::uint64_t x) {
      hash = (hash ^ x) * 1099511628211ull;
      hash ^= hash >> 29;
    };
    for (std::int64_t x :
         {key.m, key.n, key.k, key.a_row, key.a_column, key.b_row, key.b_column, key.c_row})
      mix(static_cast<std::uint64_t>(x));
    mix((static_cast<std::uint64_t>(key.a_type) << 32) | static_cast<std::uint64_t>(key.c_type));
    mix((static_cast<std::uint64_t>(float_bits(key.alpha)) << 2) |
        static_cast<std::uint64_t>(key.accumulate << 1 | key.bias));
    return hash;
  }
};

struct Primitive {
  dnnl::matmul run;
  dnnl::memory a, b, c, bias, scratch;
  std::unordered_map<int, dnnl::memory> arguments;
  std::size_t scratch_bytes = 0;
};

Primitive make(const Key& key) {
  using Desc = dnnl::memory::desc;
  const Desc a({key.m, key.k}, type_of(key.a_type), {key.a_row, key.a_column});
  const Desc b({key.k, key.n}, type_of(key.a_type), {key.b_row, key.b_column});
  const Desc c({key.m, key.n}, type_of(key.c_type), {key.c_row, 1});
  const Desc bias({1, key.n}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (key.alpha != 1) attributes.set_output_scales(0, {key.alpha});
  if (key.accumulate) {
    dnnl::post_ops post;
    post.append_sum(1.0f);
    attributes.set_post_ops(post);
  }
  const auto product = key.bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
  const dnnl::matmul::primitive_desc desc(product, attributes, engine());
  Primitive p;
  p.run = dnnl::matmul(desc);
  p.a = dnnl::memory(a, engine(), nullptr);
  p.b = dnnl::memory(b, engine(), nullptr);
  p.c = dnnl::memory(c, engine(), nullptr);
  p.scratch = dnnl::memory(desc.scratchpad_desc(), engine(), nullptr);
  p.scratch_bytes = desc.scratchpad_desc().get_size();
  p.arguments = {{DNNL_ARG_SRC, p.a},
                 {DNNL_ARG_WEIGHTS, p.b},
                 {DNNL_ARG_DST, p.c},
                 {DNNL_ARG_SCRATCHPAD, p.scratch}};
  if (key.bias) {
    p.bias = dnnl::memory(bias, engine(), nullptr);
    p.arguments[DNNL_ARG_BIAS] = p.bias;
  }
  return p;
}

class Cache {
 public:
  std::size_t size() const { return primitives_.size(); }

  void run(const Key& key, const Matrix& a, const Matrix& b, const Matrix& c, const void* bias) {
    Primitive& p = find_or_make(key);
    if (!scratch_.defined() || scratch_.bytes() < p.scratch_bytes)
      scratch_ = empty({static_cast<std::int64_t>(p.scratch_bytes / sizeof(float)) + 1024});
    p.a.set_data_handle(a.data);
    p.b.set_data_handle(b.data);
    p.c.set_data_handle(c.data);
    p.scratch.set_data_handle(scratch_.raw());
    if (bias) p.bias.set_data_handle(const_cast<void*>(bias));
    p.run.execute(stream_, p.arguments);
    stream_.wait();
  }

 private:
  Primitive& find_or_make(const Key& key) {
    if (const auto at = primitives_.find(key); at != primitives_.end()) return at->second;
    if (primitives_.size() >= most_kept_products) primitives_.clear();
    return primitives_.emplace(key, make(key)).first->second;
  }

  std::unordered_map<Key, Primitive, KeyHash> primitives_;
  dnnl::stream stream_{engine()};
  Tensor scratch_;
};

Cache& cache_of_thread() {
  thread_local Cache cache;
  return cache;
}

void run_whole(const Matrix& a, const Matrix& b, const Matrix& c, const GemmOptions& options) {
  const Key key{c.rows,
                c.columns,
                a.columns,
                a.row_stride,
                a.column_stride,
                b.row_stride,
                b.column_stride,
                c.row_stride,
                a.dtype,
                c.dtype,
                static_cast<float>(options.alpha),
                options.write == Write::accumulate,
                options.bias != nullptr};
  cache_of_thread().run(key, a, b, c, options.bias);
}

// Into how many pieces the inner dimension is cut. Two plain row-major matrices with a long inner
// dimension make oneDNN 2.6 lose a third of its speed (171 instead of 250 GFLOP/s at 3072); cut up
// and summed into fp32 they do not. The head's 50,000 wants longer pieces: each re-reads c.
std::int64_t inner_pieces(const Matrix& a, const Matrix& b, const Matrix& c) {
  const bool plain =
      a.column_stride == 1 && b.column_stride == 1 && b.rows > 1 && c.dtype == DType::f32;
  const std::int64_t k = a.columns, shortest = a.dtype == DType::bf16 ? 16384 : 2048;
  if (!plain || k < shortest) return 1;
  const std::int64_t piece = k < 16384 ? 1536 : 12576;
  return (k + piece - 1) / piece;
}

Matrix columns_of(Matrix m, std::int64_t begin, std::int64_t count) {
  const auto width = static_cast<std::int64_t>(size_of(m.dtype));
  m.data = static_cast<std::byte*>(m.data) + begin * m.column_stride * width;
  m.columns = count;
  return m;
}

}  // namespace

bool has_onednn() { return true; }

bool has_bf16_products() {
  static const bool found = [] {
    try {
      make({1, 1, 1, 1, 1, 1, 1, 1, DType::bf16, DType::f32, 1, 0, 0});
      return true;
    } catch (const dnnl::error&) {
      return false;
    }
  }();
  return found;
}

std::size_t kept_products() { return cache_of_thread().size(); }

void gemm_onednn(const Matrix& a, const Matrix& b, const Matrix& c, const GemmOptions& options) {
  const std::int64_t pieces = inner_pieces(a, b, c), k = a.columns;
  GemmOptions now = options;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::int64_t begin = k * i / pieces, count = k * (i + 1) / pieces - begin;
    const Matrix b_rows = columns_of(b.transposed(), begin, count).transposed();
    run_whole(columns_of(a, begin, count), b_rows, c, now);
    now.write = Write::accumulate;
    now.bias = nullptr;
  }
}

}  // namespace skep::cpu
