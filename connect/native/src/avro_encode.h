#pragma once

#include "arrow.h"

namespace native {

// See `encode_avro` in _connect.pyi.
PyObject* avro_encode(PyObject* self, PyObject* args);

}  // namespace native
