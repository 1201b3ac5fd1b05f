// The Python module connectors.cassandra.native._cassandra; what its functions do is told in _cassandra.pyi.
#include "functions.h"
#include "module_sources.h"

namespace {

PyMethodDef kMethods[] = {
    {"find_cells", native::find_cells, METH_VARARGS, nullptr},
    {"find_frames", native::find_frames, METH_VARARGS, nullptr},
    {"gather", native::gather, METH_VARARGS, nullptr},
    {"number_texts", native::number_texts, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "_cassandra", nullptr, -1, kMethods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__cassandra() { return native::with_sources(PyModule_Create(&kModule)); }
