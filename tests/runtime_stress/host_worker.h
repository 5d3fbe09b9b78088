#pragma once

#include <c10/core/Allocator.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <vector>

#include "generated/runtime/AcmeStream.h"
#include "stillness.h"

namespace stress {

/// What all threads that use pinned memory share, and a model of it.
class HostShared {
 public:
  /// Compares the allocator's statistics with the model, whatever other threads do.
  void compare();

  /// Right after an allocation: checks that nothing that is alive overlaps.
  void add(const void* pointer, size_t bytes);

  /// Before the memory is freed.
  void remove(const void* pointer);

  Stillness stillness;
  std::atomic<uint64_t> compared{0};
  std::atomic<uint64_t> operations{0};
  std::atomic<uint64_t> allocations{0};
  std::atomic<uint64_t> recorded{0};
  /// What the device's work found wrong.
  std::atomic<const char*> error{nullptr};

 private:
  std::mutex mutex_;
  std::map<uintptr_t, size_t> alive_;
};

/// One thread's random use of pinned memory. The host writes a pattern, and streams that are recorded read it late.
class HostWorker {
 public:
  HostWorker(HostShared& shared, size_t thread, uint64_t seed);

  /// Does one operation.
  void step();

  /// Frees all memory.
  void finish();

 private:
  struct Allocation {
    c10::DataPtr data;
    size_t bytes;
    uint64_t pattern;
  };

  size_t random(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }
  acme::AcmeStream random_stream();
  void allocate();
  Allocation& any();
  Allocation take_any();
  void read(const Allocation& allocation, const acme::AcmeStream& stream);
  void give_to_work();

  HostShared& shared_;
  std::mt19937_64 random_;
  std::vector<Allocation> allocations_;
};

}  // namespace stress
