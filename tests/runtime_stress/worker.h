#pragma once

#include <c10/core/Allocator.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "generated/runtime/AcmeStream.h"
#include "memory_model.h"
#include "private_pools.h"
#include "stillness.h"

namespace stress {

/// Stands for Python's lock: contexts need it to be made and to be destroyed, and some threads free memory holding it.
/// Were a lock of the allocator held meanwhile, threads would wait for one another.
std::recursive_mutex& interpreter_lock();

/// A context, counted while it lives.
acme::AllocationContext make_context();
int64_t live_contexts();

/// What all threads share.
struct Shared {
  /// Compares the allocator with the model, whatever other threads do.
  void compare();

  MemoryModel model;
  /// What changes the allocator and the model is one change of it.
  Stillness stillness;
  std::atomic<uint64_t> compared{0};
  std::atomic<uint64_t> operations{0};
  std::atomic<uint64_t> recorded{0};
  std::atomic<uint64_t> launched{0};
  Redirections redirections;
  /// How often the cache could not be emptied because of these.
  std::atomic<uint64_t> refused{0};
  /// What the device's own work found wrong.
  std::atomic<const char*> error{nullptr};
};

/// One thread's random use of the allocator. Every allocation is filled on its stream with a pattern of its own, and
/// other streams, which it is recorded on, read it late: memory that is given out too early has another pattern.
class Worker {
 public:
  Worker(Shared& shared, size_t thread, uint64_t seed);

  /// Does one operation.
  void step();

  /// Frees all memory.
  void finish();

 private:
  struct Allocation {
    c10::DataPtr data;
    size_t bytes;
    acme::AcmeStream stream;
    uint64_t pattern;
  };

  size_t random(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }
  size_t random_size();
  acme::AcmeStream random_stream(c10::DeviceIndex device);
  void redirect();
  c10::DataPtr take(size_t bytes, const acme::AcmeStream& stream);
  void allocate();
  void free_one();
  void record();
  void give_to_work();
  void free(Allocation allocation);
  void fill(const Allocation& allocation);
  void look(const Allocation& allocation, const acme::AcmeStream& stream);

  Shared& shared_;
  std::mt19937_64 random_;
  PrivatePools pools_;
  std::vector<Allocation> allocations_;
};

}  // namespace stress
