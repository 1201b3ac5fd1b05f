#pragma once

#include "arrow.h"

namespace native {

// See `decode_avro` in _connect.pyi.
PyObject* avro_decode(PyObject* self, PyObject* args);

}  // namespace native
