#include "result_memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "numpy_api.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace dgrad_python {
namespace {

constexpr size_t kBlocks = 4;
constexpr size_t kTotal = size_t{512} << 20;    // bytes kept at most
constexpr size_t kResident = size_t{32} << 20;  // of a block that the kernel may not take
constexpr size_t kLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;

struct Block {
  void* data = nullptr;
  size_t size = 0;
};

// Nobody waits for the lock: who does not get it goes to malloc and free. So a child that forks
// while another thread holds it can't hang.
std::atomic_flag g_busy;
std::array<Block, kBlocks> g_kept;  // the youngest first

class Guard {
 public:
  Guard() : held_(!g_busy.test_and_set(std::memory_order_acquire)) {}
  ~Guard() {
    if (held_) g_busy.clear(std::memory_order_release);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  explicit operator bool() const { return held_; }

 private:
  const bool held_;
};

void* Allocate(size_t size) {
  if (size > SIZE_MAX - kHugePage) return nullptr;
  void* data = nullptr;
  if (size < UseResultMemory::kPooledFrom) {
    return posix_memalign(&data, kLine, size) == 0 ? data : nullptr;
  }
  const size_t whole = (size + kHugePage - 1) / kHugePage * kHugePage;
  if (posix_memalign(&data, kHugePage, whole) != 0) return nullptr;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // What the allocator recycles has small pages: they make room for huge ones.
  (void)madvise(data, whole, MADV_DONTNEED);
  (void)madvise(data, whole, MADV_HUGEPAGE);
#endif
  return data;
}

void* Malloc(void*, size_t size) {
  if (size >= UseResultMemory::kPooledFrom) {
    const Guard guard;
    if (guard) {
      const auto same = std::find_if(g_kept.begin(), g_kept.end(), [&](const Block& block) {
        return block.data != nullptr && block.size == size;
      });
      if (same != g_kept.end()) {
        void* const data = same->data;
        std::move(same + 1, g_kept.end(), same);
        g_kept.back() = {};
        return data;
      }
    }
  }
  return Allocate(size);
}

void* Calloc(void*, size_t count, size_t size) { return std::calloc(count, size); }
void* Realloc(void*, void* data, size_t size) { return std::realloc(data, size); }

void Free(void*, void* data, size_t size) {
  if (data == nullptr || size < UseResultMemory::kPooledFrom || size > kTotal) {
    return std::free(data);
  }
#if defined(__linux__) && defined(MADV_FREE)
  // The kernel may take the pages when memory is short. Not of smaller blocks: to mark each page as
  // written once more costs up to half of a short computation.
  if (size > kResident) (void)madvise(data, size / kHugePage * kHugePage, MADV_FREE);
#endif
  std::array<Block, kBlocks + 1> dropped;
  size_t drops = 0;
  {
    const Guard guard;
    if (guard) {
      dropped[drops++] = g_kept.back();
      std::move_backward(g_kept.begin(), g_kept.end() - 1, g_kept.end());
      g_kept.front() = {data, size};
      data = nullptr;
      size_t total = 0;
      for (Block& block : g_kept) {
        total += block.size;
        if (total > kTotal) dropped[drops++] = std::exchange(block, {});
      }
    }
  }
  std::free(data);
  for (size_t i = 0; i < drops; ++i) std::free(dropped[i].data);
}

PyDataMem_Handler g_handler = {"dgrad_results", 1, {nullptr, Malloc, Calloc, Realloc, Free}};
PyObject* g_capsule = nullptr;  // for the life of the process, as arrays may live as long

}  // namespace

void InitResultMemory() {
  g_capsule = PyCapsule_New(&g_handler, "mem_handler", nullptr);
  if (g_capsule == nullptr) throw nanobind::python_error();
}

UseResultMemory::UseResultMemory(size_t bytes) {
  if (bytes < kAlignedFrom) return;
  before_ = PyDataMem_SetHandler(g_capsule);
  if (before_ == nullptr) {
    PyErr_Clear();
  } else if (before_ != PyDataMem_DefaultHandler) {
    Py_XDECREF(PyDataMem_SetHandler(before_));
    Py_CLEAR(before_);
  }
}

UseResultMemory::~UseResultMemory() {
  if (before_ == nullptr) return;
  PyObject* const ours = PyDataMem_SetHandler(before_);
  if (ours == nullptr) PyErr_Clear();
  Py_XDECREF(ours);
  Py_DECREF(before_);
}

void TrimResultMemory() {
  std::array<Block, kBlocks> dropped;
  {
    const Guard guard;
    if (guard) dropped = std::exchange(g_kept, {});
  }
  for (const Block& block : dropped) std::free(block.data);
}

}  // namespace dgrad_python
