// JSON texts without the space between their tokens; everything else stays as it was written.
#include "json_compact.h"

#include <cstring>
#include <new>
#include <string_view>

#include "buffer.h"
#include "text_scan.h"

namespace native {
namespace {

inline bool is_space(uint8_t byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

// Behind the closing quote of the text whose opening quote is at `from`; null when it does not end.
const uint8_t* text_end(const uint8_t* from, const uint8_t* end) {
  ++from;
  while (true) {
    from = find_special<0xF0>(from, end);
    if (from >= end) return nullptr;
    if (*from == '"') return from + 1;
    from += *from == '\\' ? 2 : 1;
    if (from > end) return nullptr;
  }
}

// `to` has room for as many bytes as there are; null when a text does not end.
uint8_t* compact(const uint8_t* from, const uint8_t* end, uint8_t* to) {
  while (from < end) {
    if (is_space(*from)) {
      ++from;
    } else if (*from == '"') {
      const uint8_t* stop = text_end(from, end);
      if (stop == nullptr) return nullptr;
      std::memcpy(to, from, static_cast<size_t>(stop - from));
      to += stop - from;
      from = stop;
    } else {
      *to++ = *from++;
    }
  }
  return to;
}

// False when a row is no JSON.
bool compact_rows(const ArrowArray& data, Made* made) {
  const auto* ends = static_cast<const int32_t*>(data.buffers[1]) + data.offset;
  const auto* bytes = static_cast<const uint8_t*>(data.buffers[2]);
  const void* valid = data.null_count == 0 ? nullptr : data.buffers[0];
  Buffer<uint8_t> text, present;
  Buffer<int32_t> offsets;
  text.reserve(static_cast<size_t>(ends[data.length] - ends[0]) + 1);
  present.reserve(static_cast<size_t>(data.length));
  offsets.reserve(static_cast<size_t>(data.length) + 1);
  offsets.push_reserved(0);
  for (int64_t row = 0; row < data.length; ++row) {
    const bool is_there = bit(valid, data.offset + row);
    present.push_reserved(is_there);
    made->nulls += !is_there;
    if (is_there) {
      uint8_t* to = compact(bytes + ends[row], bytes + ends[row + 1], text.end());
      if (to == nullptr) return false;
      text.set_end(to);
    }
    offsets.push_reserved(static_cast<int32_t>(text.size()));
  }
  made->format = "z";
  made->length = data.length;
  void* bits = made->nulls == 0 ? nullptr : packed_bits(present.data(), present.size());
  made->buffers = {bits, offsets.take(), text.take()};
  return true;
}

}  // namespace

PyObject* json_compact(PyObject*, PyObject* args) {
  PyObject* exporter;
  if (!PyArg_ParseTuple(args, "O", &exporter)) return nullptr;
  Given given(exporter);
  if (given.array == nullptr) return nullptr;
  if (std::string_view(given.schema->format) != "z") Py_RETURN_NONE;
  bool ok = true;
  Made made;
  if (!unlocked([&] { ok = compact_rows(*given.array, &made); })) return nullptr;
  if (!ok) Py_RETURN_NONE;
  return to_capsules(std::move(made));
}

}  // namespace native
