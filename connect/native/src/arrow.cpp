#include "arrow.h"

#include <cstdlib>
#include <cstring>
#include <memory>

namespace native {
namespace {

struct SchemaParts {
  std::string format;
  std::string name;
  std::vector<ArrowSchema*> children;
};

struct ArrayParts {
  std::vector<void*> buffers;
  std::vector<const void*> addresses;
  std::vector<ArrowArray*> children;
};

// A consumer may have moved a child, whose own copy is then marked as released.
template <typename Exported>
void release_children(Exported* parent) {
  for (int64_t i = 0; i < parent->n_children; ++i) {
    if (parent->children[i]->release != nullptr) parent->children[i]->release(parent->children[i]);
    delete parent->children[i];
  }
}

void release_schema(ArrowSchema* schema) {
  release_children(schema);
  delete static_cast<SchemaParts*>(schema->private_data);
  schema->release = nullptr;
}

void release_array(ArrowArray* array) {
  release_children(array);
  auto* parts = static_cast<ArrayParts*>(array->private_data);
  for (void* buffer : parts->buffers) give_back(buffer);
  delete parts;
  array->release = nullptr;
}

void export_schema(const Made& made, ArrowSchema* out) {
  auto* parts = new SchemaParts{made.format, made.name, {}};
  *out = ArrowSchema{};
  out->private_data = parts;
  out->release = release_schema;
  for (const Made& child : made.children) {
    parts->children.push_back(new ArrowSchema{});
    export_schema(child, parts->children.back());
  }
  out->format = parts->format.c_str();
  out->name = parts->name.c_str();
  out->flags = made.flags;
  out->n_children = static_cast<int64_t>(parts->children.size());
  out->children = parts->children.data();
}

void export_array(Made& made, ArrowArray* out) {
  auto* parts = new ArrayParts{std::move(made.buffers), {}, {}};
  made.buffers.clear();
  *out = ArrowArray{};
  out->private_data = parts;
  out->release = release_array;
  for (void* buffer : parts->buffers) parts->addresses.push_back(buffer);
  for (Made& child : made.children) {
    parts->children.push_back(new ArrowArray{});
    export_array(child, parts->children.back());
  }
  out->length = made.length;
  out->null_count = made.nulls;
  out->n_buffers = static_cast<int64_t>(parts->addresses.size());
  out->buffers = parts->addresses.data();
  out->n_children = static_cast<int64_t>(parts->children.size());
  out->children = parts->children.data();
}

template <typename Exported>
void free_capsule(PyObject* capsule, const char* name) {
  auto* exported = static_cast<Exported*>(PyCapsule_GetPointer(capsule, name));
  if (exported->release != nullptr) exported->release(exported);
  delete exported;
}

void free_schema(PyObject* capsule) { free_capsule<ArrowSchema>(capsule, "arrow_schema"); }
void free_array(PyObject* capsule) { free_capsule<ArrowArray>(capsule, "arrow_array"); }

}  // namespace

Made::~Made() {
  for (void* buffer : buffers) give_back(buffer);
}

PyObject* to_capsules(Made&& made) {
  auto schema = std::make_unique<ArrowSchema>();
  export_schema(made, schema.get());
  PyObject* first = PyCapsule_New(schema.get(), "arrow_schema", free_schema);
  if (first == nullptr) {
    schema->release(schema.get());
    return nullptr;
  }
  schema.release();
  auto array = std::make_unique<ArrowArray>();
  export_array(made, array.get());
  PyObject* second = PyCapsule_New(array.get(), "arrow_array", free_array);
  if (second == nullptr) {
    array->release(array.get());
    Py_DECREF(first);
    return nullptr;
  }
  array.release();
  return Py_BuildValue("(NN)", first, second);
}

void* packed_bits(const uint8_t* valid, size_t count) {
  auto* bits = static_cast<uint8_t*>(std::calloc(count / 8 + 1, 1));
  if (bits == nullptr) throw std::bad_alloc();
  for (size_t i = 0; i < count; ++i) bits[i >> 3] |= static_cast<uint8_t>(valid[i] << (i & 7));
  return bits;
}

Given::Given(PyObject* exporter) {
  capsules_ = PyObject_CallMethod(exporter, "__arrow_c_array__", nullptr);
  if (capsules_ == nullptr) return;
  PyObject* first = PyTuple_GetItem(capsules_, 0);
  PyObject* second = first == nullptr ? nullptr : PyTuple_GetItem(capsules_, 1);
  if (second == nullptr) return;
  schema = static_cast<const ArrowSchema*>(PyCapsule_GetPointer(first, "arrow_schema"));
  if (schema != nullptr) array = static_cast<const ArrowArray*>(PyCapsule_GetPointer(second, "arrow_array"));
}

}  // namespace native
