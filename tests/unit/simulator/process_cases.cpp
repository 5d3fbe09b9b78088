// Fork and exit.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <vector>

#include "check.h"
#include "support.h"

namespace {

// Runs `body` in a child and checks that it ends with 0.
void in_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

CASE(a_child_forked_after_the_first_use_is_refused) {
  std::byte* block = device_memory(4096);
  std::memset(hidden(block), 7, 4096);
  const simStream_t stream = new_stream();
  const simEvent_t event = new_event();
  Gate gate;
  gate.block(stream);
  in_child([&] {
    void* address = nullptr;
    int number = 0;
    float elapsed = 0;
    std::size_t size = 0;
    simStream_t new_stream = nullptr;
    const std::vector<simError_t> statuses = {
        simGetDeviceCount(&number),
        simSetDevice(0),
        simGetDevice(&number),
        simDeviceSynchronize(),
        simGetLastError(),
        simMalloc(&address, 16),
        simFree(block),
        simMemGetInfo(&size, &size),
        simHostAlloc(&address, 16, 0),
        simFreeHost(address),
        simMemcpyAsync(block, &number, 4, simMemcpyHostToDevice, nullptr),
        simMemsetAsync(block, 0, 4096, nullptr),
        simStreamCreateWithPriority(&new_stream, 0, 0),
        simStreamDestroy(stream),
        simStreamQuery(stream),
        simStreamSynchronize(stream),
        simStreamWaitEvent(stream, event, 0),
        simEventRecord(event, stream),
        simEventQuery(event),
        simEventSynchronize(event),
        simEventElapsedTime(&elapsed, event, event),
        simEventDestroy(event),
        simHostGetAddress(&address, block)};
    for (const simError_t status : statuses) {
      CHECK(status == simErrorNotInitialized);
    }
    in_child([&] { CHECK_STATUS(simErrorNotInitialized, simGetDeviceCount(&number)); });
  });
  CHECK_STATUS(simErrorNotReady, simStreamQuery(stream));
  gate.open();
  OK(simStreamSynchronize(stream));
  CHECK(hidden(block)[0] == std::byte{7} && hidden(block)[4095] == std::byte{7});
  OK(simFree(block));
}

CASE(a_child_forked_before_the_first_use_has_its_own_devices) {
  int count = 0;
  OK(simGetDeviceCount(&count));  // asks, and does not yet use
  OK(simSetDevice(1));
  in_child([] {
    std::byte* block = device_memory(4096);
    OK(simMemsetAsync(block, 1, 4096, nullptr));
    OK(simStreamSynchronize(nullptr));
  });
  std::size_t available = 0, total = 0;
  OK(simMemGetInfo(&available, &total));
  CHECK(available == total);
}

CASE(a_process_may_end_with_live_streams) {
  Gate& closed = *new Gate;  // never destroyed, because a worker waits for it to the end
  for (int device : {0, 1}) {
    OK(simSetDevice(device));
    for (int i = 0; i < 8; ++i) {
      const simStream_t stream = new_stream(device);
      OK(simLaunchHostFunc(stream, [](void*) {}, nullptr));
    }
    OK(simDeviceSynchronize());
  }
  const simStream_t blocked = new_stream();
  closed.block(blocked);
  OK(simEventRecord(new_event(), blocked));
  // The caller returns from main: static destructors run beside the workers.
}

namespace {

struct UsesTheRuntimeAtExit {
  ~UsesTheRuntimeAtExit() {
    if (block != nullptr) {
      OK(simMemsetAsync(block, 0, 64, nullptr));
      OK(simDeviceSynchronize());
      OK(simFree(block));
    }
  }
  std::byte* block = nullptr;
};

UsesTheRuntimeAtExit user;

}  // namespace

CASE(static_destructors_may_use_the_runtime) { user.block = device_memory(64); }
