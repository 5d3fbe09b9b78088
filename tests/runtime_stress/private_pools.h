#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "generated/runtime/AcmeStream.h"

namespace stress {

/// Streams of a device that all threads use.
inline constexpr size_t kSharedStreams = 4;

/// How many redirections of allocations to private pools there are in all threads, and how many have begun. While there
/// are any, the allocator gives no memory back to the driver.
struct Redirections {
  std::atomic<uint64_t> present{0};
  std::atomic<uint64_t> begun{0};
};

/// One thread's use of private pools: now and then they serve a stream that nobody else allocates on.
class PrivatePools {
 public:
  PrivatePools(Redirections& redirections, size_t thread) : redirections_(redirections), thread_(thread) {}

  bool is_redirected() const { return is_redirected_; }

  /// Begins to redirect, to a new pool or to the one that is in use, or releases that one.
  void begin_or_release(uint64_t random);

  void end();

  /// Ends all uses.
  void finish();

  /// The thread's own stream on `device`.
  acme::AcmeStream stream(c10::DeviceIndex device) const;

  /// The pool that serves `stream` now.
  c10::MempoolId_t pool_for(const acme::AcmeStream& stream) const;

  /// Empties the cache, or that of the pool in use. Returns false if that was refused because of a redirection.
  bool empty_cache(uint64_t random);

 private:
  Redirections& redirections_;
  const size_t thread_;
  c10::DeviceIndex device_ = 0;
  c10::MempoolId_t pool_{0, 0};
  size_t uses_ = 0;
  bool is_redirected_ = false;
};

}  // namespace stress
