// Memory for numbers that is not cleared, for arrays that are written before they are read.
#pragma once
#include <new>
#include <utility>

#include "base/memory_pool.h"

namespace stz {

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t n) { resize(n); }
  Buffer(Buffer&& from) noexcept { *this = std::move(from); }
  Buffer& operator=(Buffer&& from) noexcept {
    std::swap(data_, from.data_);
    std::swap(size_, from.size_);
    std::swap(capacity_, from.capacity_);
    return *this;
  }
  ~Buffer() { release(); }

  // Loses the contents if n exceeds the capacity.
  void resize(size_t n) {
    if (n > capacity_) {
      release();
      data_ = nullptr;
      capacity_ = size_ = 0;
      if (n > (size_t(-1) >> 1) / sizeof(T)) throw std::bad_alloc();
      data_ = static_cast<T*>(take_memory(n * sizeof(T)));
      capacity_ = n;
    }
    size_ = n;
  }
  // Resizes, and clears new memory. For arrays whose gaps and ends vectors read without using them: any number would do, but tools that
  // follow undefined memory, such as memcheck, cannot tell that results do not depend on it.
  void resize_defined(size_t n) {
    const bool is_new = n > capacity_;
    resize(n);
    if (is_new) memset(static_cast<void*>(data_), 0, n * sizeof(T));
  }
  void clear() { size_ = 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  void release() { give_memory_back(data_, capacity_ * sizeof(T)); }

  T* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace stz
