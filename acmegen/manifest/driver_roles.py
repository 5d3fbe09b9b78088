"""The functions of a driver's API that a backend needs, with the C++ type each must have.

`{status}`, `{stream}`, `{event}` and `{kind}` stand for the types that the manifest names, and for graphs `{graph}`,
`{executable}`, `{capture_mode}` and `{capture_status}`. The shapes are those of the CUDA runtime API, which most
vendors' runtimes follow, so that a binding by name is enough.
"""

from __future__ import annotations

REQUIRED: dict[str, str] = {
    "get_device_count": "{status}(int*)",
    "set_device": "{status}(int)",
    "get_device": "{status}(int*)",
    "device_synchronize": "{status}()",
    "malloc": "{status}(void**, size_t)",
    "free": "{status}(void*)",
    "mem_get_info": "{status}(size_t*, size_t*)",
    "host_alloc": "{status}(void**, size_t, unsigned int)",
    "host_free": "{status}(void*)",
    "memcpy_async": "{status}(void*, const void*, size_t, {kind}, {stream})",
    "memset_async": "{status}(void*, int, size_t, {stream})",
    "stream_create_with_priority": "{status}({stream}*, unsigned int, int)",
    "stream_destroy": "{status}({stream})",
    "stream_query": "{status}({stream})",
    "stream_synchronize": "{status}({stream})",
    "stream_wait_event": "{status}({stream}, {event}, unsigned int)",
    "event_create_with_flags": "{status}({event}*, unsigned int)",
    "event_destroy": "{status}({event})",
    "event_record": "{status}({event}, {stream})",
    "event_query": "{status}({event})",
    "event_synchronize": "{status}({event})",
    "event_elapsed_time": "{status}(float*, {event}, {event})",
}

OPTIONAL: dict[str, str] = {
    "get_device_name": "{status}(char*, int, int)",
    "get_last_error": "{status}()",
    "get_device_error": "{status}()",
    "memcpy_peer_async": "{status}(void*, int, const void*, int, size_t, {stream})",
    "host_pointer": "{status}(void**, const void*)",
    "launch_host_function": "{status}({stream}, void (*)(void*), void*)",
    "declare_access": "{status}(const char*, const void*, size_t, int, const int64_t*, const int64_t*, int)",
    "poison_async": "{status}(void*, size_t, {stream})",
    "instrumentation": "int()",
}

# For drivers that capture graphs, in the section `graphs` of the binding.
GRAPHS_REQUIRED: dict[str, str] = {
    "stream_begin_capture": "{status}({stream}, {capture_mode})",
    "stream_end_capture": "{status}({stream}, {graph}*)",
    "stream_get_capture_info": "{status}({stream}, {capture_status}*, unsigned long long*)",
    "thread_exchange_capture_mode": "{status}({capture_mode}*)",
    "graph_instantiate": "{status}({executable}*, {graph}, unsigned long long)",
    "graph_launch": "{status}({executable}, {stream})",
    "graph_executable_destroy": "{status}({executable})",
    "graph_destroy": "{status}({graph})",
}

GRAPHS_OPTIONAL: dict[str, str] = {
    "graph_debug_print": "{status}({graph}, const char*, unsigned int)",
}

# `get_device` is asked whenever the device of a thread matters, since other libraries may have set it: it should cost
# next to nothing, such as a look at a variable of the thread.
#
# `get_device_error` serves drivers that report failed work to those who wait for its stream or its device, but not to
# those who wait for an event: it gives the first error of work on the thread's device that was not reported yet, and
# forgets it. Those that report it from `event_synchronize`, as CUDA does, need no such function.
#
# `declare_access` serves drivers that check the order between streams, such as the simulator: before a host function is
# launched, it is called once for each range that the function touches, with the kernel's name, the address, the
# element's size, the dimensions, the sizes, and the strides in bytes. The last argument is 0 for a read, 1 for a write;
# 2 is added when the calling thread itself touches the memory, now.
#
# `poison_async` serves those that fill memory which nobody may read: a caching allocator calls it for what it keeps.
#
# `instrumentation` says which of the two the driver needs now: 1 for `declare_access`, 2 for `poison_async`, or their
# sum. It is asked before each of those calls, and so should cost next to nothing. Without it, both are always made.

# `expr` in its host form and `reference` need both: the host's address of device memory, and a host function that
# runs in stream order.
HOST_ACCESS: frozenset[str] = frozenset({"host_pointer", "launch_host_function"})
