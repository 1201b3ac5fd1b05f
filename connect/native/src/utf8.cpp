#include "utf8.h"

#include <cstring>

namespace native {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080ULL;

// The bytes of the character at `from`, 0 when it is none (Unicode, table 3-7).
int character(const uint8_t* from, const uint8_t* end) {
  const uint8_t lead = from[0];
  const int size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || end - from < size) return 0;
  const uint8_t least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (from[1] < least || from[1] > most) return 0;
  for (int i = 2; i < size; ++i) {
    if ((from[i] & 0xC0) != 0x80) return 0;
  }
  return size;
}

}  // namespace

const uint8_t* skip_ascii(const uint8_t* from, const uint8_t* end) {
  while (end - from >= 64) {
    uint64_t words[8], any = 0;
    std::memcpy(words, from, sizeof words);
    for (const uint64_t word : words) any |= word;
    if ((any & kHighBits) != 0) break;
    from += sizeof words;
  }
  while (end - from >= 8) {
    uint64_t word;
    std::memcpy(&word, from, sizeof word);
    if ((word & kHighBits) != 0) break;
    from += sizeof word;
  }
  while (from < end && *from < 0x80) ++from;
  return from;
}

bool is_utf8(const uint8_t* from, const uint8_t* end) {
  while ((from = skip_ascii(from, end)) < end) {
    const int size = character(from, end);
    if (size == 0) return false;
    from += size;
  }
  return true;
}

}  // namespace native
