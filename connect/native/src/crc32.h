// CRC-32 as zlib has it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace native {

// As zlib's crc32(data, begin).
uint32_t crc32(uint32_t begin, const void* data, size_t size);

}  // namespace native
