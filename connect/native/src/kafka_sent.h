#pragma once

#include <atomic>
#include <optional>

#include "arrow.h"

namespace native {

// Rows that were queued as one: what keeps them in memory, unless librdkafka copied them; how many it is not done with;
// and how many of the others it gave up. Failures are counted first, so who sees none open sees every failure.
struct Sent {
  Sent() = default;
  Sent(PyObject* of_values, PyObject* of_keys) {
    values.emplace(of_values);
    if (of_keys != Py_None && values->array != nullptr) keys.emplace(of_keys);
  }
  std::optional<Given> values;
  std::optional<Given> keys;
  std::atomic<int64_t> open{0};
  std::atomic<int64_t> failed{0};
};

}  // namespace native
