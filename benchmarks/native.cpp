// What runtime.py and replay.py measure in nanoseconds. Each function repeats an operation and returns the mean time of
// one, in nanoseconds: the calling thread's own, or, where it waits for work, the time that passes. Work that is
// enqueued and not waited for is waited for outside of the measured time.
//
// NAMESPACE, STREAM and the headers' folders are given by native.py, which loads this library into a process that has
// imported the backend.

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <c10/core/Allocator.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <time.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "generated/runtime/HostLaunch.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using NAMESPACE::STREAM;

constexpr c10::DeviceType kDevice = c10::DeviceType::PrivateUse1;

double nanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

template <typename Operation>
double mean_nanoseconds(int repetitions, const Operation& operation, clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  const double begin = nanoseconds(clock);
  for (int i = 0; i < repetitions; ++i) {
    operation();
  }
  return (nanoseconds(clock) - begin) / repetitions;
}

// Keeps the compiler from leaving out an allocation that nobody uses.
void use(void* pointer) { asm volatile("" : : "g"(pointer) : "memory"); }

c10::Device device_of(bool accelerator) { return accelerator ? c10::Device(kDevice, 0) : c10::Device(c10::kCPU); }

c10::Stream current_stream() { return c10::impl::VirtualGuardImpl(kDevice).getStream(device_of(true)); }

void synchronize() { current_stream().synchronize(); }

// A thread that runs what it is given: what a launch on a simulated device costs at least, since a kernel runs on
// another thread there.
class Worker {
 public:
  Worker() : thread_([this] { run(); }) {}
  ~Worker() {
    hand_over(nullptr);
    thread_.join();
  }

  void hand_over(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    ++pending_;
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return pending_ == 0; });
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !queue_.empty(); });
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      if (work == nullptr) {
        return;
      }
      lock.unlock();
      work();
      lock.lock();
      --pending_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  size_t pending_ = 0;
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace

EXPORT double malloc_and_free(size_t bytes, int repetitions) {
  return mean_nanoseconds(repetitions, [&] {
    void* const pointer = std::malloc(bytes);
    use(pointer);
    std::free(pointer);
  });
}

EXPORT double allocate_and_free(bool accelerator, size_t bytes, int repetitions) {
  c10::Allocator* const allocator = c10::GetAllocator(device_of(accelerator).type());
  const double time = mean_nanoseconds(repetitions, [&] { use(allocator->allocate(bytes).get()); });
  synchronize();
  return time;
}

EXPORT double empty(bool accelerator, int repetitions) {
  const at::TensorOptions options = at::TensorOptions().device(device_of(accelerator));
  const double time = mean_nanoseconds(repetitions, [&] { use(at::empty({1024}, options).unsafeGetTensorImpl()); });
  synchronize();
  return time;
}

EXPORT double add(bool accelerator, int repetitions) {
  const at::Tensor tensor = at::ones({16}, at::TensorOptions().device(device_of(accelerator)));
  const double time = mean_nanoseconds(repetitions, [&] { use(at::add(tensor, tensor).unsafeGetTensorImpl()); });
  synchronize();
  return time;
}

EXPORT double launch(int repetitions) {
  const STREAM stream(current_stream());
  const double time =
      mean_nanoseconds(repetitions, [&] { NAMESPACE::launch_host_function(stream, "empty kernel", [] {}); });
  synchronize();
  return time;
}

EXPORT double launch_and_synchronize(int repetitions) {
  const STREAM stream(current_stream());
  const auto operation = [&] {
    NAMESPACE::launch_host_function(stream, "empty kernel", [] {});
    stream.synchronize();
  };
  return mean_nanoseconds(repetitions, operation, CLOCK_MONOTONIC);
}

EXPORT double hand_over(int repetitions) {
  Worker worker;
  const double time = mean_nanoseconds(repetitions, [&] { worker.hand_over([] {}); });
  worker.wait();
  return time;
}

EXPORT double hand_over_and_wait(int repetitions) {
  Worker worker;
  const auto operation = [&] {
    worker.hand_over([] {});
    worker.wait();
  };
  return mean_nanoseconds(repetitions, operation, CLOCK_MONOTONIC);
}

EXPORT double record_event(int repetitions) {
  c10::Event event(kDevice);
  const c10::Stream stream = current_stream();
  const double time = mean_nanoseconds(repetitions, [&] { event.record(stream); });
  synchronize();
  return time;
}

// Feeds a recorded trace to the device's allocator: an event of at least 0 allocates so many bytes, and -n frees what
// the n-th allocation, counted from 1, gave. After each event the stream is waited for, outside of the measured time:
// the device is never behind, so that what is freed can be used again as early as possible. Returns the mean time of an
// event.
EXPORT double replay(const int64_t* events, size_t count) {
  c10::Allocator* const allocator = c10::GetAllocator(kDevice);
  std::vector<c10::DataPtr> allocations;
  allocations.reserve(count);
  double time = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t event = events[i];
    const auto operation = [&] {
      if (event >= 0) {
        allocations.push_back(allocator->allocate(static_cast<size_t>(event)));
      } else {
        allocations[-event - 1].clear();
      }
    };
    // Of a single call, the thread's own time is not known finely enough.
    time += mean_nanoseconds(1, operation, CLOCK_MONOTONIC);
    synchronize();
  }
  return time / static_cast<double>(count);
}
