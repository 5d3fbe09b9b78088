#include "worker.h"

#include <c10/util/Exception.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "generated/runtime/AcmeAllocator.h"
#include "generated/runtime/AcmeEvent.h"
#include "generated/runtime/AcmeFunctions.h"
#include "generated/runtime/HostLaunch.h"
#include "pattern.h"
#include "sim_debug.h"

namespace stress {
namespace {

constexpr size_t kKiB = size_t{1} << 10;
constexpr size_t kMiB = size_t{1} << 20;

std::atomic<int64_t> contexts{0};

struct Context final : c10::GatheredContext {
  Context() { count(1); }
  ~Context() override { count(-1); }
  static void count(int change) {
    const std::lock_guard lock(interpreter_lock());
    contexts += change;
  }
};

}  // namespace

std::recursive_mutex& interpreter_lock() {
  static auto& mutex = *new std::recursive_mutex;
  return mutex;
}

acme::AllocationContext make_context() { return std::make_shared<Context>(); }

int64_t live_contexts() { return contexts; }

void fail_next_calls(size_t at, size_t count) {
  const auto set = [](const char* name, size_t value) {
    require(simSetFault(name, std::to_string(value).c_str()) == simSuccess, "the simulator knows its settings");
  };
  set("SIM_OUT_OF_MEMORY_COUNT", count);
  set("SIM_OUT_OF_MEMORY_AT", at);
}

void Shared::compare() {
  stillness.still([this] { model.check(); });
  compared.fetch_add(1, std::memory_order_relaxed);
}

Worker::Worker(Shared& shared, size_t thread, uint64_t seed)
    : shared_(shared), random_(seed), pools_(shared.redirections, thread) {}

void Worker::step() {
  redirect();
  switch (random(100)) {
    case 0: {
      const Stillness::Change change(shared_.stillness);
      if (!pools_.empty_cache(random_())) {
        shared_.refused.fetch_add(1, std::memory_order_relaxed);
      }
      break;
    }
    case 1:
      check_snapshot(acme::getAcmeAllocator().snapshot());
      break;
    case 2: {
      const auto device = static_cast<c10::DeviceIndex>(random(kDevices));
      acme::getAcmeAllocator().setMemoryFraction(random(2) == 0 ? 1.0 : 0.75, device);
      const Stillness::Change change(shared_.stillness);
      acme::getAcmeAllocator().resetPeakStats(device);
      shared_.model.reset_peaks(device);
      break;
    }
    case 3:
      if (!allocations_.empty()) {
        const Allocation& allocation = allocations_[random(allocations_.size())];
        auto* inside = static_cast<std::byte*>(allocation.data.get()) + random(allocation.bytes);
        require(acme::getAcmeAllocator().device_of(inside) == allocation.data.device().index(), "an address has its device");
      }
      break;
    case 4:
      // The driver is out of memory for nobody knows what reason, perhaps while the allocator does something about it.
      fail_next_calls(1 + random(8), 1 + random(3));
      break;
    default:
      // Around 40 allocations a thread are alive.
      switch (random(80) < allocations_.size() ? random(5) : 5 + random(5)) {
        case 0:
        case 1:
        case 2:
          free_one();
          break;
        case 3:
          give_to_work();
          break;
        case 4:
        case 5:
          record();
          break;
        default:
          allocate();
      }
  }
  shared_.operations.fetch_add(1, std::memory_order_relaxed);
  if (const char* error = shared_.error) {
    require(false, error);
  }
}

void Worker::finish() {
  pools_.finish();
  while (!allocations_.empty()) {
    free_one();
  }
  for (c10::DeviceIndex device = 0; device < kDevices; ++device) {
    acme::synchronize_device(device);
  }
}

size_t Worker::random_size() {
  switch (random(8)) {
    case 0:
      return 1 + random(2 * kKiB);
    case 1:
      return 512 * (1 + random(16));
    case 2:
      return 1 + random(4 * kMiB);
    case 3:
      return random(4) == 0 ? 1 + random(32 * kMiB) : 1 + random(12 * kMiB);
    default:
      return 1 + random(kMiB);
  }
}

acme::AcmeStream Worker::random_stream(c10::DeviceIndex device) {
  // Few streams, so that they meet.
  const size_t number = random(kSharedStreams);
  if (number == 0) {
    return acme::getDefaultAcmeStream(device);
  }
  return acme::AcmeStream(c10::Stream::unpack3(static_cast<c10::StreamId>(number) << 10 | 1, device, c10::DeviceType::PrivateUse1));
}

// Few steps long, since nothing is given back to the driver meanwhile.
void Worker::redirect() {
  if (pools_.is_redirected() ? random(10) != 0 : random(100) != 0) {
    return;
  }
  if (pools_.is_redirected()) {
    pools_.end();
  } else {
    pools_.begin_or_release(random_());
  }
}

// On the current stream, which is `stream`. Null when the device is out of memory.
c10::DataPtr Worker::take(size_t bytes, const acme::AcmeStream& stream) {
  const Stillness::Change change(shared_.stillness);
  try {
    c10::DataPtr data = acme::getAcmeAllocator().allocate(bytes);
    shared_.model.add(data.get(), bytes, stream, pools_.pool_for(stream));
    return data;
  } catch (const c10::OutOfMemoryError&) {
    shared_.model.add_out_of_memory(stream.device_index());
    return {};
  }
}

void Worker::allocate() {
  const auto device = static_cast<c10::DeviceIndex>(random(kDevices));
  const acme::AcmeStream stream = random(3) == 0 ? pools_.stream(device) : random_stream(device);
  acme::set_device(device);
  acme::setCurrentAcmeStream(stream);
  const size_t bytes = random_size();
  c10::DataPtr data = take(bytes, stream);
  if (data) {
    fill(allocations_.emplace_back(Allocation{std::move(data), bytes, stream, random_()}));
  } else {
    for (int i = 0; i < 4 && !allocations_.empty(); ++i) {
      free_one();
    }
  }
  acme::set_device(static_cast<c10::DeviceIndex>(random(kDevices)));
}

void Worker::free_one() {
  if (allocations_.empty()) {
    return;
  }
  std::swap(allocations_[random(allocations_.size())], allocations_.back());
  Allocation allocation = std::move(allocations_.back());
  allocations_.pop_back();
  free(std::move(allocation));
}

void Worker::free(Allocation allocation) {
  // What is on the stream already reads it before anybody else can write it.
  look(allocation, allocation.stream);
  const Stillness::Change change(shared_.stillness);
  shared_.model.remove(allocation.data.get(), allocation.data.device().index());
  std::unique_lock lock(interpreter_lock(), std::defer_lock);
  if (random(4) == 0) {
    lock.lock();
  }
  allocation.data.clear();
}

// Another stream, perhaps another device's, reads it.
void Worker::record() {
  if (allocations_.empty()) {
    return;
  }
  const Allocation& allocation = allocations_[random(allocations_.size())];
  const acme::AcmeStream user = random_stream(static_cast<c10::DeviceIndex>(random(kDevices)));
  acme::AcmeEvent event;
  event.record(allocation.stream);
  event.block(user);
  look(allocation, user);
  acme::getAcmeAllocator().recordStream(allocation.data, user);
  shared_.recorded.fetch_add(1, std::memory_order_relaxed);
}

// Work that owns memory frees it on the driver's thread.
void Worker::give_to_work() {
  if (allocations_.empty()) {
    return;
  }
  auto owned = std::make_shared<Allocation>(std::move(allocations_.back()));
  allocations_.pop_back();
  look(*owned, owned->stream);
  const acme::AcmeStream stream = owned->stream;
  acme::launch_host_function(stream, "own", [this_shared = &shared_, owned = std::move(owned)]() mutable {
    const Stillness::Change change(this_shared->stillness);
    this_shared->model.remove(owned->data.get(), owned->data.device().index());
    owned.reset();
  });
}

void Worker::fill(const Allocation& allocation) {
  acme::launch_host_function(allocation.stream, "fill",
                             [address = allocation.data.get(), bytes = allocation.bytes, pattern = allocation.pattern] {
                               wait_a_little(pattern);
                               write_pattern(acme::host_address(address), bytes, pattern);
                             });
  shared_.launched.fetch_add(1, std::memory_order_relaxed);
}

void Worker::look(const Allocation& allocation, const acme::AcmeStream& stream) {
  acme::launch_host_function(stream, "look",
                             [shared = &shared_, address = allocation.data.get(), bytes = allocation.bytes,
                              pattern = allocation.pattern] {
                               wait_a_little(pattern >> 8);
                               if (!has_pattern(acme::host_address(address), bytes, pattern)) {
                                 shared->error = "memory belongs to its owner until all streams have passed";
                               }
                             });
  shared_.launched.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace stress
