// A case is a function that runs in a process of its own: `program NAME` exits with 0 if it passes.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

inline std::map<std::string, std::function<void()>>& cases() {
  static std::map<std::string, std::function<void()>> all;
  return all;
}

struct Registration {
  Registration(const char* name, void (*body)()) { cases()[name] = body; }
};

#define CASE(name)                                        \
  static void name();                                     \
  static const Registration register_##name(#name, name); \
  static void name()

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::_Exit(1);                                                       \
    }                                                                      \
  } while (false)

#define CHECK_STATUS(expected, call)                                                               \
  do {                                                                                             \
    const simError_t status_ = (call);                                                             \
    if (status_ != (expected)) {                                                                   \
      std::fprintf(stderr, "%s:%d: %s gave %d (%s), not %s\n", __FILE__, __LINE__, #call, status_, \
                   simGetErrorString(status_), #expected);                                         \
      std::_Exit(1);                                                                               \
    }                                                                                              \
  } while (false)

#define OK(call) CHECK_STATUS(simSuccess, call)
