#pragma once

#include "arrow.h"

namespace native {

// See `bind_librdkafka` and `consume` in _connect.pyi.
PyObject* bind_librdkafka(PyObject* self, PyObject* args);
PyObject* consume(PyObject* self, PyObject* args);

}  // namespace native
