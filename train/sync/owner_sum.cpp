// Owner-sum: each rank owns a part of the bucket. All send every part, encoded, to its owner
// (all_to_all); the owner decodes and adds in rank order in fp32, its own part encoded and decoded
// like the others; then it encodes the sum, and all gather the sums. Every rank decodes the same
// bytes, so the replicas are bit-identical; the order of the sum does not depend on the topology,
// which shapes the group and the gather only. Sends 2m(N-1)/N encoded bytes; holds three encoded
// copies of the bucket meanwhile.
#include <algorithm>
#include <numeric>
#include <vector>

#include "train/compress/codec.h"
#include "train/sync/reduction.h"

namespace skep {
namespace {

// Where things lie in the bytes of a flight: parts to send, parts that arrive, sums.
struct Layout {
  std::vector<std::size_t> sizes;  // encoded, of each part
  std::size_t own = 0;             // the position of this rank
  std::size_t incoming() const { return sizes[own]; }
  std::size_t part(std::size_t i) const {
    return std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(i),
                           std::size_t{0});
  }
  std::size_t arrived(std::size_t i) const { return part(sizes.size()) + i * incoming(); }
  std::size_t sum(std::size_t i) const { return arrived(sizes.size()) + part(i); }
  std::size_t total() const { return sum(sizes.size()); }
};

class OwnerFlight final : public Flight {
 public:
  OwnerFlight(const Codec& codec, std::span<float> grads, const SyncRound& round)
      : codec_(codec), grads_(grads), comm_(round.comm) {
    const Place place = round.place();
    const Group group = round.topology.group(place);
    parts_ = parts_of(grads.size(), group.size());
    layout_.own = static_cast<std::size_t>(group.position);
    for (const Range range : parts_) layout_.sizes.push_back(codec.bytes(range.size()));
    const auto words = static_cast<std::int64_t>(layout_.total() / 4 + 1);
    memory_ = empty({words}, DType::i32);
    bytes_ = {static_cast<std::byte*>(memory_.raw()), layout_.total()};
    for (std::size_t i = 0; i < parts_.size(); ++i)
      codec_.encode(at(parts_[i]),
                    encoded(i == layout_.own ? layout_.arrived(i) : layout_.part(i), i));
    pending_.emplace(comm_.start(plan(round.topology, place), WireSpan(bytes_)));
  }

  void advance() override { comm_.progress(); }
  void wait() override {
    pending_->wait();
    if (parts_.size() == 1) add_up();
    for (std::size_t i = 0; i < parts_.size(); ++i)
      codec_.decode(encoded(layout_.sum(i), i), at(parts_[i]));
  }

 private:
  std::span<float> at(Range range) const { return grads_.subspan(range.begin, range.size()); }
  std::span<std::byte> encoded(std::size_t begin, std::size_t part) const {
    return bytes_.subspan(begin, layout_.sizes[part]);
  }

  // The exchange, then the sum as this rank's own work, then the gather: one collective.
  Plan plan(const Topology& topology, const Place& place) {
    const std::vector<std::size_t> arriving(parts_.size(), layout_.incoming());
    Plan whole = topology.all_to_all(place, layout_.sizes, arriving);
    Plan gather = topology.all_gather(place, layout_.sizes);
    gather.shift(layout_.sum(0));
    if (!gather.rounds.empty()) gather.rounds.front().before = [this] { add_up(); };
    whole.append(std::move(gather));
    whole.operation = "owner_sum";
    return whole;
  }

  void add_up() {
    const std::span<float> sum = at(parts_[layout_.own]);
    const Tensor room = empty({static_cast<std::int64_t>(sum.size())}, DType::f32);
    const std::span<float> term(room.data<float>(), sum.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto bytes = bytes_.subspan(layout_.arrived(i), layout_.incoming());
      codec_.decode(bytes, i == 0 ? sum : term);
      if (i == 0) continue;
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += term[j];
    }
    codec_.encode(sum, encoded(layout_.sum(layout_.own), layout_.own));
  }

  const Codec& codec_;
  std::span<float> grads_;
  Communicator& comm_;
  std::vector<Range> parts_;
  Layout layout_;
  Tensor memory_;
  std::span<std::byte> bytes_;
  std::optional<Pending> pending_;  // last: it waits before the memory goes
};

class OwnerSum final : public Reduction {
 public:
  explicit OwnerSum(std::unique_ptr<Codec> codec) : codec_(std::move(codec)) {}
  std::string name() const override { return "owner-sum in " + codec_->name(); }
  std::unique_ptr<Flight> start(ParameterStore& store, std::int64_t begin, std::int64_t end,
                                const SyncRound& round) override {
    const std::span grads(store.grads().data<float>() + begin,
                          static_cast<std::size_t>(end - begin));
    return std::make_unique<OwnerFlight>(*codec_, grads, round);
  }

 private:
  std::unique_ptr<Codec> codec_;
};

}  // namespace

std::unique_ptr<Reduction> make_owner_sum(std::unique_ptr<Codec> codec) {
  return std::make_unique<OwnerSum>(std::move(codec));
}

}  // namespace skep
