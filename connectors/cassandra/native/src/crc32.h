// The CRC-32 of zlib.
#pragma once

#include <cstddef>
#include <cstdint>

namespace native {

// The checksum of bytes that `before` is the checksum of (0: there are none), followed by data[0, size).
uint32_t crc32(uint32_t before, const uint8_t* data, size_t size);

}  // namespace native
