// Owner-sum: each rank owns a part of the bucket. All send every part, encoded, to its owner
// (all_to_all); the owner decodes and adds in rank order in fp32, its own part encoded and decoded
// like the others; then it encodes the sum, and all gather the sums. Every rank decodes the same
// bytes, so the replicas are bit-identical; the order of the sum does not depend on the topology,
// which shapes the group and the gather only. Sends 2m(N-1)/N encoded bytes; holds three encoded
// copies of the bucket meanwhile.
#include <cmath>
#include <numeric>
#include <vector>

#include "train/compress/error_feedback.h"
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

// What a flight needs of the reduction it belongs to.
struct Encoding {
  std::unique_ptr<Codec> codec;
  std::optional<ErrorFeedback> sent, summed;  // of the parts sent; of the sums this rank owns
  Health health;

  // Adds what earlier encodings of [begin, …) left out, encodes, and notes what this one leaves
  // out.
  void encode(std::optional<ErrorFeedback>& feedback, std::span<float> values, std::int64_t begin,
              double scale, std::span<std::byte> out) {
    if (feedback) feedback->add_to(values, begin, scale);
    for (float& value : values)
      if (!std::isfinite(value)) {
        ++health.not_finite;
        value = 0;
      }
    codec->encode(values, out);
    if (!feedback) return;
    const Tensor room = empty({static_cast<std::int64_t>(values.size())}, DType::f32);
    const std::span<float> decoded(room.data<float>(), values.size());
    codec->decode(out, decoded);
    feedback->note(values, decoded, begin, scale);
  }
};

class OwnerFlight final : public Flight {
 public:
  OwnerFlight(Encoding& encoding, std::span<float> grads, std::int64_t begin,
              const SyncRound& round)
      : encoding_(encoding),
        codec_(*encoding.codec),
        grads_(grads),
        begin_(begin),
        scale_(round.loss_scale),
        comm_(round.comm) {
    const Place place = round.place();
    const Group group = round.topology.group(place);
    parts_ = parts_of(grads.size(), group.size());
    layout_.own = static_cast<std::size_t>(group.position);
    for (const Range range : parts_) layout_.sizes.push_back(codec_.bytes(range.size()));
    const auto words = static_cast<std::int64_t>(layout_.total() / 4 + 1);
    memory_ = empty({words}, DType::i32);
    bytes_ = {static_cast<std::byte*>(memory_.raw()), layout_.total()};
    for (std::size_t i = 0; i < parts_.size(); ++i)
      encode(encoding_.sent, i,
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
  void encode(std::optional<ErrorFeedback>& feedback, std::size_t part, std::span<std::byte> out) {
    const Range range = parts_[part];
    encoding_.encode(feedback, at(range), begin_ + static_cast<std::int64_t>(range.begin), scale_,
                     out);
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
    encode(encoding_.summed, layout_.own, encoded(layout_.sum(layout_.own), layout_.own));
  }

  Encoding& encoding_;
  const Codec& codec_;
  std::span<float> grads_;
  std::int64_t begin_;  // of the bucket in the flat gradients
  double scale_;
  Communicator& comm_;
  std::vector<Range> parts_;
  Layout layout_;
  Tensor memory_;
  std::span<std::byte> bytes_;
  std::optional<Pending> pending_;  // last: it waits before the memory goes
};

class OwnerSum final : public Reduction {
 public:
  OwnerSum(std::unique_ptr<Codec> codec, Feedback feedback, std::int64_t elements) {
    encoding_.codec = std::move(codec);
    if (feedback == Feedback::no) return;
    encoding_.sent.emplace("residual_sent", elements);
    encoding_.summed.emplace("residual_summed", elements);
  }
  std::string name() const override { return "owner-sum in " + encoding_.codec->name(); }

  void before_backward(ParameterStore&, MicroBatch micro) override {
    if (micro.first()) encoding_.health = {};
  }
  std::unique_ptr<Flight> start(ParameterStore& store, std::int64_t begin, std::int64_t end,
                                const SyncRound& round) override {
    const std::span grads = store.grads(begin, end);
    return std::make_unique<OwnerFlight>(encoding_, grads, begin, round);
  }
  Health health() const override { return encoding_.health; }

  void settle(StepEnd end) override {
    if (end == StepEnd::skipped) return;
    for (auto* feedback : {&encoding_.sent, &encoding_.summed})
      if (*feedback) (*feedback)->commit();
  }
  bool keeps_state() const override { return encoding_.sent.has_value(); }
  void archive(Archive& archive) override {
    for (auto* feedback : {&encoding_.sent, &encoding_.summed})
      if (*feedback) (*feedback)->archive(archive);
  }

 private:
  Encoding encoding_;
};

}  // namespace

std::unique_ptr<Reduction> make_owner_sum(std::unique_ptr<Codec> codec, Feedback feedback,
                                          std::int64_t elements) {
  return std::make_unique<OwnerSum>(std::move(codec), feedback, elements);
}

}  // namespace skep
