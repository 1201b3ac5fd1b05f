// Values as the JSON text that Java's JsonConverter writes; connect/convert/json/java_text.py is their twin in Python.
#pragma once

#include <cstddef>
#include <cstdint>

#include "buffer.h"

namespace native {

using Text = Buffer<uint8_t>;

void put(Text* text, const char* chars, size_t count);
void put_int(Text* text, int64_t value);
// The shortest digits that read back the same, two of them at least; NaN and infinities as strings.
void put_double(Text* text, double value);
void put_float(Text* text, float value);
// With quotes and Jackson's escapes; false when it is no UTF-8.
bool put_string(Text* text, const uint8_t* from, size_t count);
void put_base64(Text* text, const uint8_t* from, size_t count);
// The 16 bytes of a decimal128 as its unscaled value: minimal big-endian two's complement, in base64.
void put_decimal(Text* text, const uint8_t* little_endian);

}  // namespace native
