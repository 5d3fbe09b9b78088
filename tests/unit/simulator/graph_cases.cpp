// Capture, graphs and their launches.
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "sim_blas.h"
#include "sim_debug.h"
#include "support.h"

namespace {

void set(const char* name, const char* value) { OK(simSetFault(name, value)); }

void increase(void* number) { ++*static_cast<int*>(number); }

void begin(simStream_t stream, simStreamCaptureMode mode = simStreamCaptureModeGlobal) {
  OK(simStreamBeginCapture(stream, mode));
}

simGraph_t end(simStream_t stream) {
  simGraph_t graph = nullptr;
  OK(simStreamEndCapture(stream, &graph));
  return graph;
}

void end_invalidated(simStream_t stream) {
  simGraph_t graph = nullptr;
  CHECK_STATUS(simErrorCaptureInvalidated, simStreamEndCapture(stream, &graph));
  CHECK(graph == nullptr);
}

simGraphExec_t instantiate(simGraph_t graph) {
  simGraphExec_t executable = nullptr;
  OK(simGraphInstantiate(&executable, graph, 0));
  OK(simGraphDestroy(graph));
  return executable;
}

simStreamCaptureStatus status(simStream_t stream) {
  simStreamCaptureStatus status = simStreamCaptureStatusNone;
  OK(simStreamGetCaptureInfo(stream, &status, nullptr));
  return status;
}

void order(simStream_t later, simStream_t earlier) {
  const simEvent_t event = new_event();
  OK(simEventRecord(event, earlier));
  OK(simStreamWaitEvent(later, event, 0));
  OK(simEventDestroy(event));
}

// What `call` gives in a capture, which it must invalidate.
template <typename Call>
void expect_refused(simError_t expected, Call call) {
  const simStream_t stream = new_stream();
  begin(stream);
  CHECK_STATUS(expected, call(stream));
  CHECK(status(stream) == simStreamCaptureStatusInvalidated);
  int number = 0;
  CHECK_STATUS(simErrorCaptureInvalidated, simLaunchHostFunc(stream, increase, &number));
  end_invalidated(stream);
  CHECK(status(stream) == simStreamCaptureStatusNone);
  OK(simLaunchHostFunc(stream, increase, &number));
  OK(simStreamSynchronize(stream));
  CHECK(number == 1);
}

}  // namespace

CASE(captured_work_runs_at_each_launch_and_not_before) {
  static int number = 0;
  const simStream_t stream = new_stream();
  begin(stream);
  OK(simLaunchHostFunc(stream, increase, &number));
  OK(simLaunchHostFunc(stream, increase, &number));
  const simGraphExec_t executable = instantiate(end(stream));
  OK(simStreamSynchronize(stream));
  CHECK(number == 0);
  for (int i = 1; i <= 3; ++i) {
    OK(simGraphLaunch(executable, i == 2 ? nullptr : stream));
    OK(simDeviceSynchronize());
    CHECK(number == 2 * i);
  }
  OK(simGraphExecDestroy(executable));
  CHECK_STATUS(simErrorInvalidResourceHandle, simGraphLaunch(executable, stream));
}

CASE(copies_fills_and_kernels_are_captured) {
  constexpr std::size_t size = 4 * sizeof(float);
  const simStream_t stream = new_stream();
  float* const a = reinterpret_cast<float*>(device_memory(size));
  float* const b = reinterpret_cast<float*>(device_memory(size));
  float* const c = reinterpret_cast<float*>(device_memory(size));
  void *in = nullptr, *out = nullptr;
  OK(simHostAlloc(&in, size, 0));
  OK(simHostAlloc(&out, size, 0));
  begin(stream);
  OK(simMemcpyAsync(a, in, size, simMemcpyHostToDevice, stream));
  OK(simMemcpyAsync(b, a, size, simMemcpyDeviceToDevice, stream));
  OK(simMemsetAsync(c, 0, size, stream));
  OK(simGemm(stream, simFloat32, 2, 2, 2, 1, a, 2, 1, b, 2, 1, 0, c, 2, 1));
  OK(simMemcpyAsync(out, c, size, simMemcpyDeviceToHost, stream));
  const simGraphExec_t executable = instantiate(end(stream));
  for (const float scale : {1.0f, 3.0f}) {
    const float values[] = {scale, 0, 0, scale};
    std::memcpy(in, values, size);
    OK(simGraphLaunch(executable, stream));
    OK(simStreamSynchronize(stream));
    CHECK(static_cast<float*>(out)[0] == scale * scale && static_cast<float*>(out)[1] == 0);
  }
}

CASE(streams_join_a_capture_by_events) {
  static std::vector<int> ran;
  const auto launch = [](simStream_t stream, std::intptr_t number) {
    OK(simLaunchHostFunc(
        stream,
        [](void* number) {
          ran.push_back(static_cast<int>(reinterpret_cast<std::intptr_t>(number)));
        },
        reinterpret_cast<void*>(number)));
  };
  const simStream_t first = new_stream(), second = new_stream();
  begin(first);
  launch(first, 1);
  CHECK(status(second) == simStreamCaptureStatusNone);
  order(second, first);
  CHECK(status(second) == simStreamCaptureStatusActive);
  unsigned long long ids[2] = {};
  OK(simStreamGetCaptureInfo(first, nullptr, &ids[0]));
  OK(simStreamGetCaptureInfo(second, nullptr, &ids[1]));
  CHECK(ids[0] == ids[1] && ids[0] != 0);
  launch(second, 2);
  order(first, second);
  launch(first, 3);
  // A stream may wait for more, as long as no work comes after that.
  order(second, first);
  const simGraphExec_t executable = instantiate(end(first));
  CHECK(status(second) == simStreamCaptureStatusNone);
  launch(second, 0);
  OK(simStreamSynchronize(second));
  OK(simGraphLaunch(executable, first));
  OK(simStreamSynchronize(first));
  CHECK((ran == std::vector{0, 1, 2, 3}));
}

CASE(work_of_another_stream_must_be_joined) {
  static int number = 0;
  const simStream_t first = new_stream(), second = new_stream();
  begin(first);
  order(second, first);
  OK(simLaunchHostFunc(second, increase, &number));
  simGraph_t graph = nullptr;
  CHECK_STATUS(simErrorCaptureUnjoined, simStreamEndCapture(first, &graph));
  CHECK(graph == nullptr && status(second) == simStreamCaptureStatusNone);
}

CASE(what_needs_the_end_of_captured_work_is_refused) {
  static std::byte pageable[1 << 17];
  static std::byte* const memory = device_memory(sizeof pageable);
  static const simEvent_t event = new_event();
  const auto unsupported = [](auto call) { expect_refused(simErrorCaptureUnsupported, call); };
  unsupported([](simStream_t stream) { return simStreamSynchronize(stream); });
  unsupported([](simStream_t stream) { return simStreamQuery(stream); });
  unsupported([](simStream_t stream) { return simStreamDestroy(stream); });
  unsupported([](simStream_t) { return simDeviceSynchronize(); });
  for (const std::size_t size : {std::size_t{8}, sizeof pageable}) {
    unsupported([size](simStream_t stream) {
      return simMemcpyAsync(pageable, memory, size, simMemcpyDeviceToHost, stream);
    });
    unsupported([size](simStream_t stream) {
      return simMemcpyAsync(memory, pageable, size, simMemcpyHostToDevice, stream);
    });
  }
  const auto captured = [](auto call) {
    expect_refused(simErrorCapturedEvent, [&](simStream_t stream) {
      OK(simEventRecord(event, stream));
      return call();
    });
    CHECK_STATUS(simErrorCapturedEvent, call());  // the capture has ended, the event has not run
  };
  captured([] { return simEventQuery(event); });
  captured([] { return simEventSynchronize(event); });
  captured([] {
    return simStreamWaitEvent(new_stream(), event, 0) == simSuccess ? simEventQuery(event)
                                                                    : simErrorCapturedEvent;
  });
  captured([] {
    float milliseconds = 0;
    return simEventElapsedTime(&milliseconds, event, event);
  });
  OK(simEventRecord(event, nullptr));
  OK(simEventSynchronize(event));
}

CASE(captures_do_not_mix) {
  const simStream_t outside = new_stream(), other = new_stream();
  static const simEvent_t event = new_event();
  // Work outside of the capture, and the default stream, which cannot capture.
  OK(simEventRecord(event, outside));
  expect_refused(simErrorCaptureIsolation,
                 [](simStream_t stream) { return simStreamWaitEvent(stream, event, 0); });
  expect_refused(simErrorCaptureUnsupported, [](simStream_t stream) {
    OK(simEventRecord(event, stream));
    return simStreamWaitEvent(nullptr, event, 0);
  });
  begin(other);
  OK(simEventRecord(event, other));
  expect_refused(simErrorCaptureMerge,
                 [](simStream_t stream) { return simStreamWaitEvent(stream, event, 0); });
  end_invalidated(other);
  CHECK_STATUS(simErrorCaptureUnsupported,
               simStreamBeginCapture(nullptr, simStreamCaptureModeGlobal));
  CHECK_STATUS(simErrorInvalidValue,
               simStreamBeginCapture(other, static_cast<simStreamCaptureMode>(3)));
  begin(other);
  CHECK_STATUS(simErrorCaptureUnsupported,
               simStreamBeginCapture(other, simStreamCaptureModeGlobal));
  simGraphExec_t executable = instantiate(end(other));
  expect_refused(simErrorCaptureUnsupported,
                 [&](simStream_t stream) { return simGraphLaunch(executable, stream); });
}

CASE(a_capture_ends_where_it_began) {
  simGraph_t graph = nullptr;
  const simStream_t first = new_stream(), second = new_stream();
  CHECK_STATUS(simErrorCaptureUnmatched, simStreamEndCapture(first, &graph));
  begin(first);
  order(second, first);
  CHECK_STATUS(simErrorCaptureUnmatched, simStreamEndCapture(second, &graph));
  end_invalidated(first);
  begin(first);
  std::thread([&] {
    CHECK_STATUS(simErrorCaptureWrongThread, simStreamEndCapture(first, &graph));
  }).join();
  OK(simGraphDestroy(end(first)));
  begin(first, simStreamCaptureModeRelaxed);
  std::thread([&] { OK(simStreamEndCapture(first, &graph)); }).join();
  OK(simGraphDestroy(graph));
  CHECK_STATUS(simErrorInvalidResourceHandle, simGraphDestroy(graph));
}

CASE(a_capture_forbids_memory_calls_by_mode) {
  const auto try_memory = [](simStreamCaptureMode thread_mode) {
    simStreamCaptureMode mode = thread_mode;
    OK(simThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == simStreamCaptureModeGlobal);
    void* address = nullptr;
    const simError_t result = simMalloc(&address, 16);
    CHECK(result == simFree(address));
    CHECK(result == simHostAlloc(&address, 16, 0));
    CHECK(result == simFreeHost(address));
    OK(simThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == thread_mode);
    return result;
  };
  const auto G = simStreamCaptureModeGlobal, T = simStreamCaptureModeThreadLocal,
             R = simStreamCaptureModeRelaxed;
  const struct {
    simStreamCaptureMode capture, thread;
    bool own, is_refused;
  } table[] = {{G, G, true, true},   {G, T, true, true},   {G, R, true, false},
               {T, G, true, true},   {T, R, true, false},  {R, G, true, false},
               {G, G, false, true},  {G, T, false, false}, {G, R, false, false},
               {T, G, false, false}, {R, G, false, false}};
  for (const auto& row : table) {
    const simStream_t stream = new_stream();
    begin(stream, row.capture);
    simError_t result = simSuccess;
    if (row.own) {
      result = try_memory(row.thread);
    } else {
      std::thread([&] { result = try_memory(row.thread); }).join();
    }
    CHECK(result == (row.is_refused ? simErrorCaptureUnsupported : simSuccess));
    if (row.is_refused) {
      end_invalidated(stream);
    } else {
      OK(simGraphDestroy(end(stream)));
    }
  }
  simStreamCaptureMode wrong = static_cast<simStreamCaptureMode>(3);
  CHECK_STATUS(simErrorInvalidValue, simThreadExchangeStreamCaptureMode(&wrong));
}

CASE(other_work_goes_on_during_a_capture) {
  static int captured = 0, eager = 0;
  const simStream_t stream = new_stream(), other = new_stream();
  begin(stream);
  OK(simLaunchHostFunc(stream, increase, &captured));
  OK(simLaunchHostFunc(other, increase, &eager));
  OK(simStreamSynchronize(other));
  OK(simSetDevice(1));
  OK(simDeviceSynchronize());
  OK(simSetDevice(0));
  CHECK(captured == 0 && eager == 1);
  OK(simGraphDestroy(end(stream)));
}

CASE(launches_of_a_graph_are_in_order) {
  static int number = 0;
  const simStream_t first = new_stream(), second = new_stream(1);
  begin(first);
  OK(simLaunchHostFunc(first, increase, &number));
  const simGraphExec_t executable = instantiate(end(first));
  Gate gate;
  gate.block(first);
  OK(simGraphLaunch(executable, first));
  OK(simGraphLaunch(executable, second));
  OK(simGraphExecDestroy(executable));
  sleep_ms(20);
  CHECK(number == 0);
  gate.open();
  OK(simStreamSynchronize(second));
  CHECK(number == 2);
}

CASE(failures_of_captured_work_are_the_launchs) {
  static int number = 0;
  const simStream_t stream = new_stream();
  std::byte* const memory = device_memory(64);
  begin(stream);
  OK(simLaunchHostFunc(stream, [](void*) { throw std::runtime_error("as intended"); }, nullptr));
  OK(simMemsetAsync(memory, 1, 64, stream));
  OK(simLaunchHostFunc(stream, increase, &number));
  const simGraphExec_t executable = instantiate(end(stream));
  OK(simStreamSynchronize(stream));
  OK(simGraphLaunch(executable, stream));
  CHECK_STATUS(simErrorLaunchFailure, simStreamSynchronize(stream));
  CHECK(number == 1 && hidden(memory)[63] == std::byte{1});
  OK(simStreamSynchronize(stream));
}

CASE(settings_reach_captured_work) {
  set("SIM_RACE", "count");
  const simStream_t stream = new_stream();
  std::byte* const memory = device_memory(64);
  begin(stream);
  OK(simMemsetAsync(memory, 1, 64, stream));
  const simGraphExec_t executable = instantiate(end(stream));
  set("SIM_LAUNCH_FAILURE_KERNEL", "memset");
  OK(simGraphLaunch(executable, stream));
  CHECK_STATUS(simErrorLaunchFailure, simStreamSynchronize(stream));
  CHECK(hidden(memory)[0] != std::byte{1} && simFaultCount() == 1);
  set("SIM_LAUNCH_FAILURE_KERNEL", "");
  OK(simGraphLaunch(executable, stream));
  OK(simStreamSynchronize(stream));
  CHECK(hidden(memory)[0] == std::byte{1} && simRaceCount() == 0);
}

CASE(races_with_and_within_graphs_are_found) {
  set("SIM_RACE", "count");
  const simStream_t first = new_stream(), second = new_stream();
  std::byte* const memory = device_memory(64);
  const auto fork = [&](bool is_ordered) {
    begin(first);
    OK(simMemsetAsync(memory, 1, 64, first));
    order(second, first);
    OK(simMemsetAsync(memory, 2, 64, second));
    if (is_ordered) {
      order(first, second);
    }
    OK(simMemsetAsync(memory, 3, 64, first));
    order(first, second);
    return instantiate(end(first));
  };
  CHECK(simRaceCount() == 0);
  const simGraphExec_t ordered = fork(true);
  OK(simGraphLaunch(ordered, first));
  OK(simGraphLaunch(ordered, second));  // after the launch before
  CHECK(simRaceCount() == 0);
  OK(simMemsetAsync(memory, 4, 64, first));
  CHECK(simRaceCount() == 1);
  OK(simDeviceSynchronize());
  OK(simGraphLaunch(fork(false), first));
  CHECK(simRaceCount() == 2);
  char text[512];
  OK(simGetLastReport(text, sizeof text));
  CHECK(std::strstr(text, "\"memset\" on a branch of a graph of device 0") != nullptr);
  OK(simStreamSynchronize(first));
  OK(simFree(memory));  // seen by the host, with all branches
  CHECK(simRaceCount() == 2);
}

CASE(a_graph_is_written_for_graphviz) {
  int number = 0;
  const simStream_t first = new_stream(), second = new_stream();
  begin(first);
  OK(simLaunchHostFunc(first, increase, &number));
  order(second, first);
  order(first, second);
  const simGraph_t graph = end(first);
  const std::string path =
      "/tmp/sim_graph_" + std::to_string(reinterpret_cast<std::uintptr_t>(&number)) + ".dot";
  OK(simGraphDebugDotPrint(graph, path.c_str(), 0));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  CHECK(text.str().find("step_0 [label=\"host function\"]") != std::string::npos);
  CHECK(text.str().find("step_1 -> step_2") != std::string::npos);
  CHECK_STATUS(simErrorInvalidValue, simGraphDebugDotPrint(graph, "/no/such/folder/x", 0));
}
