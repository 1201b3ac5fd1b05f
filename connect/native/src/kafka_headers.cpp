#include "kafka_headers.h"

#include "lent.h"
#include "rdkafka_abi.h"

namespace native {

SharedHeaders::SharedHeaders(PyObject* pairs) {
  const Py_ssize_t count = PyList_Size(pairs);
  if (count < 0) return;
  list_ = kafka.headers_new(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    Argument name, value;
    if (!PyArg_ParseTuple(PyList_GetItem(pairs, i), "s*z*", name.parsed(), value.parsed())) {
      destroy(list_);
      list_ = nullptr;
      return;
    }
    kafka.header_add(list_, name.data(), static_cast<Py_ssize_t>(name.size()), value.data(),
                     static_cast<Py_ssize_t>(value.size()));
  }
}

SharedHeaders::~SharedHeaders() {
  if (list_ != nullptr) destroy(list_);
}

void* SharedHeaders::copy() const { return kafka.headers_copy(list_); }

void SharedHeaders::destroy(void* headers) { kafka.headers_destroy(headers); }

}  // namespace native
