#pragma once
// The way fingerprints travel: apart from the payload, so that neither is ever taken for the other.
// They come from anyone, in order from each sender.
#include <memory>

#include "mpi_comm/fingerprint.h"

namespace skep {

class FingerprintChannel {
 public:
  virtual ~FingerprintChannel() = default;
  /// Returns at once.
  virtual void send(int peer, const Fingerprint& print) = 0;
  /// False when none has come.
  virtual bool receive(Fingerprint& print) = 0;
};

/// Collective: duplicates MPI_COMM_WORLD.
std::unique_ptr<FingerprintChannel> make_mpi_fingerprint_channel();

}  // namespace skep
