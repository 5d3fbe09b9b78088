#pragma once

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace stress {

/// All threads meet after so many steps.
inline constexpr size_t kRound = 500;

/// The allocator is compared with the model after each step, and with several threads, which then seldom do something
/// at the same time, in every other round only when they meet.
inline bool is_compared_after_each_step(size_t threads, size_t round) { return threads == 1 || round % 2 == 0; }

/// Runs threads that do `steps` each, which work on `shared` and compare it with its model. Raises the first error.
template <class Worker, class Shared>
void run_threads(Shared& shared, uint64_t seed, size_t threads, size_t steps) {
  std::exception_ptr error;
  std::mutex error_mutex;
  const auto keep_error = [&] {
    const std::lock_guard lock(error_mutex);
    error = error != nullptr ? error : std::current_exception();
  };
  const size_t rounds = (steps + kRound - 1) / kRound;
  std::barrier barrier(static_cast<std::ptrdiff_t>(threads), [&]() noexcept {
    try {
      shared.compare();
    } catch (...) {
      keep_error();
    }
  });
  const auto work = [&](size_t number) {
    Worker worker(shared, number, seed * 1000 + number);
    for (size_t round = 0; round < rounds; ++round) {
      try {
        for (size_t step = 0; step < kRound; ++step) {
          worker.step();
          if (is_compared_after_each_step(threads, round)) {
            shared.compare();
          }
        }
      } catch (...) {
        keep_error();
      }
      barrier.arrive_and_wait();
    }
    try {
      worker.finish();
    } catch (...) {
      keep_error();
    }
  };
  std::vector<std::thread> running;
  for (size_t number = 0; number < threads; ++number) {
    running.emplace_back(work, number);
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  if (error != nullptr) {
    std::rethrow_exception(error);
  }
}

}  // namespace stress
