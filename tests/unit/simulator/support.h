#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

#include "check.h"
#include "sim_runtime.h"

inline std::byte* device_memory(std::size_t size) {
  void* address = nullptr;
  OK(simMalloc(&address, size));
  return static_cast<std::byte*>(address);
}

inline std::byte* hidden(const void* address) {
  void* host = nullptr;
  OK(simHostGetAddress(&host, address));
  return static_cast<std::byte*>(host);
}

inline simStream_t new_stream(int device = 0) {
  int before = 0;
  OK(simGetDevice(&before));
  OK(simSetDevice(device));
  simStream_t stream = nullptr;
  OK(simStreamCreateWithPriority(&stream, simStreamNonBlocking, 0));
  OK(simSetDevice(before));
  return stream;
}

inline simEvent_t new_event(int device = 0, unsigned int flags = simEventDefault) {
  int before = 0;
  OK(simGetDevice(&before));
  OK(simSetDevice(device));
  simEvent_t event = nullptr;
  OK(simEventCreateWithFlags(&event, flags));
  OK(simSetDevice(before));
  return event;
}

// Work that holds a stream until it is opened.
class Gate {
 public:
  void block(simStream_t stream) {
    OK(simLaunchHostFunc(stream, [](void* gate) { static_cast<Gate*>(gate)->wait(); }, this));
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

inline void sleep_ms(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}
