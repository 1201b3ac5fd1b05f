#pragma once

#include <atomic>
#include <optional>

#include "arrow.h"

namespace native {

// The rows of one call of `produce`: what keeps them in memory, and how many librdkafka still points to.
struct Sent {
  Sent(PyObject* of_values, PyObject* of_keys) : values(of_values) {
    if (of_keys != Py_None && values.array != nullptr) keys.emplace(of_keys);
  }
  Given values;
  std::optional<Given> keys;
  std::atomic<int64_t> open{0};
};

}  // namespace native
