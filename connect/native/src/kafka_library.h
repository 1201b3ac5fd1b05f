#pragma once

#include "arrow.h"

namespace native {

// See `bind_librdkafka` in _connect.pyi.
PyObject* bind_librdkafka(PyObject* self, PyObject* args);

}  // namespace native
