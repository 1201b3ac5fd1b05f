#include "rdkafka_abi.h"

#include <dlfcn.h>

#include "kafka_library.h"

namespace native {

KafkaLibrary kafka;

namespace {

template <typename Function>
bool find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (*function == nullptr) PyErr_Format(PyExc_OSError, "librdkafka has no function %s", name);
  return *function != nullptr;
}

}  // namespace

PyObject* bind_librdkafka(PyObject*, PyObject* args) {
  const char* path;
  if (!PyArg_ParseTuple(args, "s", &path)) return nullptr;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return PyErr_Format(PyExc_OSError, "%s", dlerror());
  const bool found = find(library, "rd_kafka_consume_batch_queue", &kafka.consume_batch_queue) &&
                     find(library, "rd_kafka_message_destroy", &kafka.message_destroy) &&
                     find(library, "rd_kafka_topic_name", &kafka.topic_name) &&
                     find(library, "rd_kafka_message_timestamp", &kafka.message_timestamp) &&
                     find(library, "rd_kafka_message_headers", &kafka.message_headers) &&
                     find(library, "rd_kafka_header_get_all", &kafka.header_get_all) &&
                     find(library, "rd_kafka_message_errstr", &kafka.message_errstr) &&
                     find(library, "rd_kafka_produce_batch", &kafka.produce_batch) &&
                     find(library, "rd_kafka_produceva", &kafka.produce_row) &&
                     find(library, "rd_kafka_headers_new", &kafka.headers_new) &&
                     find(library, "rd_kafka_headers_copy", &kafka.headers_copy) &&
                     find(library, "rd_kafka_headers_destroy", &kafka.headers_destroy) &&
                     find(library, "rd_kafka_header_add", &kafka.header_add) &&
                     find(library, "rd_kafka_error_code", &kafka.error_code) &&
                     find(library, "rd_kafka_error_destroy", &kafka.error_destroy) &&
                     find(library, "rd_kafka_outq_len", &kafka.outq_len) &&
                     find(library, "rd_kafka_flush", &kafka.flush) &&
                     find(library, "rd_kafka_conf_interceptor_add_on_new", &kafka.conf_add_on_new) &&
                     find(library, "rd_kafka_interceptor_add_on_acknowledgement", &kafka.add_on_acknowledgement);
  if (!found) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace native
