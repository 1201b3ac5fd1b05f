#pragma once

#include <cstdint>

namespace native {

// Where the ASCII characters at the start of [from, end) end.
const uint8_t* skip_ascii(const uint8_t* from, const uint8_t* end);

// Whether [from, end) is UTF-8 from its first byte to its last.
bool is_utf8(const uint8_t* from, const uint8_t* end);

}  // namespace native
