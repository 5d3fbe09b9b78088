#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace stress {

/// Separates what changes the allocator and the model together, which many threads do at the same time, from what
/// compares them, for which all stand still. Work of the device may go on: only what it frees waits.
class Stillness {
 public:
  /// Lives while its thread changes both.
  class Change {
   public:
    explicit Change(Stillness& stillness) : stillness_(stillness) {
      const std::lock_guard lock(stillness_.mutex_);
      ++stillness_.changes_;
    }
    ~Change() {
      const std::lock_guard lock(stillness_.mutex_);
      if (--stillness_.changes_ == 0) {
        stillness_.none_.notify_all();
      }
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    Stillness& stillness_;
  };

  /// Calls `compare` while nobody changes anything. New changes begin while it waits, since one that is under way may
  /// depend on them: an allocation waits for work that frees memory.
  template <class Function>
  void still(Function compare) {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [&] { return changes_ == 0; });
    compare();
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  size_t changes_ = 0;
};

}  // namespace stress
