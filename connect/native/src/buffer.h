// A growing block of memory that can be handed over to Arrow.
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace native {

// Memory as of std::malloc, but large blocks are kept for the next taker: from the system each would come page by page
// and zeroed, which costs as much as filling it.
void* resized(void* block, size_t used_bytes, size_t wanted_bytes);  // nullptr without memory: `block` stays.
void give_back(void* block);

template <typename T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  ~Buffer() { give_back(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }

  // Room for `more` elements behind the last one.
  void reserve(size_t more) {
    if (size_ + more > capacity_) grow(size_ + more);
  }
  void push(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = value;
  }
  // Only after `reserve`.
  void push_reserved(T value) { data_[size_++] = value; }
  T* end() { return data_ + size_; }
  void set_end(T* end) { size_ = static_cast<size_t>(end - data_); }
  void append(const T* from, size_t count) {
    if (count == 0) return;
    reserve(count);
    std::memcpy(data_ + size_, from, count * sizeof(T));
    size_ += count;
  }
  void fill(T value, size_t count) {
    reserve(count);
    for (size_t i = 0; i < count; ++i) data_[size_ + i] = value;
    size_ += count;
  }
  // The memory, to be freed with `give_back`; never null, as Arrow wants an address for an empty buffer too.
  T* take() {
    if (data_ == nullptr) grow(1);
    size_ = capacity_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  void grow(size_t least) {
    size_t wanted = capacity_ * 2 > least ? capacity_ * 2 : least;
    if (wanted < 64 / sizeof(T) + 1) wanted = 64 / sizeof(T) + 1;
    void* moved = resized(data_, size_ * sizeof(T), wanted * sizeof(T));
    if (moved == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    capacity_ = wanted;
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace native
