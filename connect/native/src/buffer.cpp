#include "buffer.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <array>
#include <mutex>

namespace native {
namespace {

constexpr size_t kLarge = 1 << 20;
constexpr size_t kMostKept = 24 << 20;

#if defined(__GLIBC__)
size_t size_of(void* block) { return malloc_usable_size(block); }
#else
size_t size_of(void*) { return 0; }  // Nothing is kept.
#endif

// Large blocks that nobody uses.
class Kept {
 public:
  // The smallest one that is large enough, nullptr when there is none, or none that would not be a waste.
  void* take(size_t least) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Block* found = nullptr;
    for (Block& one : blocks_) {
      if (one.size >= least && one.size <= 4 * least && (found == nullptr || one.size < found->size)) found = &one;
    }
    if (found == nullptr) return nullptr;
    bytes_ -= found->size;
    found->size = 0;
    return found->memory;
  }
  // False when it is not kept.
  bool keep(void* memory, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (bytes_ + size > kMostKept) return false;
    for (Block& one : blocks_) {
      if (one.size != 0) continue;
      one = {memory, size};
      bytes_ += size;
      return true;
    }
    return false;
  }

 private:
  struct Block {
    void* memory = nullptr;
    size_t size = 0;
  };
  std::mutex mutex_;
  std::array<Block, 16> blocks_;
  size_t bytes_ = 0;
};

Kept& kept() {
  static Kept* one = new Kept;  // Never destroyed: blocks may come back while the process ends.
  return *one;
}

}  // namespace

void* resized(void* block, size_t used_bytes, size_t wanted_bytes) {
  if (wanted_bytes < kLarge) return std::realloc(block, wanted_bytes);
  // Blocks for the same work differ by a little: each shall fit the next.
  wanted_bytes = (wanted_bytes + kLarge - 1) / kLarge * kLarge;
  void* taken = kept().take(wanted_bytes);
  if (taken == nullptr) return std::realloc(block, wanted_bytes);
  if (used_bytes != 0) std::memcpy(taken, block, used_bytes);
  give_back(block);
  return taken;
}

void give_back(void* block) {
  if (block == nullptr) return;
  const size_t size = size_of(block);
  if (size < kLarge || !kept().keep(block, size)) std::free(block);
}

}  // namespace native
