// BLAKE2b without a key (RFC 7693).
#pragma once

#include <cstddef>
#include <cstdint>

namespace native {

constexpr size_t kDigestBytes = 16;

// The digest of 16 bytes of data[0, size).
void blake2b(const uint8_t* data, size_t size, uint8_t* digest);

}  // namespace native
