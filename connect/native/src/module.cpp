// The Python module connect.native._connect; what its functions do is told in _connect.pyi.
#include "arrow.h"
#include "avro_decode.h"
#include "avro_encode.h"
#include "crc32_sum.h"
#include "json_compact.h"
#include "json_decode.h"
#include "json_encode.h"
#include "kafka_consume.h"
#include "kafka_library.h"
#include "kafka_linger.h"
#include "kafka_produce.h"
#include "module_sources.h"

namespace {

PyMethodDef kMethods[] = {
    {"decode_json", native::json_decode, METH_VARARGS, nullptr},
    {"compact_json", native::json_compact, METH_VARARGS, nullptr},
    {"encode_json", native::json_encode, METH_VARARGS, nullptr},
    {"decode_avro", native::avro_decode, METH_VARARGS, nullptr},
    {"encode_avro", native::avro_encode, METH_VARARGS, nullptr},
    {"sum_crc32", native::sum_crc32, METH_VARARGS, nullptr},
    {"bind_librdkafka", native::bind_librdkafka, METH_VARARGS, nullptr},
    {"consume", native::consume, METH_VARARGS, nullptr},
    {"produce", native::produce, METH_VARARGS, nullptr},
    {"copied_rows", native::copied_rows, METH_VARARGS, nullptr},
    {"refused_rows", native::refused_rows, METH_VARARGS, nullptr},
    {"open_rows", native::open_rows, METH_VARARGS, nullptr},
    {"forget_rows", native::forget_rows, METH_VARARGS, nullptr},
    {"linger_new", native::linger_new, METH_VARARGS, nullptr},
    {"linger_start", native::linger_start, METH_VARARGS, nullptr},
    {"linger_queued", native::linger_queued, METH_VARARGS, nullptr},
    {"linger_hurry", native::linger_hurry, METH_VARARGS, nullptr},
    {"linger_stop", native::linger_stop, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "_connect", nullptr, -1, kMethods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__connect() { return native::with_sources(PyModule_Create(&kModule)); }
