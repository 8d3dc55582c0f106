#include "src/api/error.h"

#include <cstddef>
#include <cstring>

namespace dgrad {
namespace {

thread_local char last_error[kLastErrorBytes] = "";

// The largest length <= limit that does not split a UTF-8 sequence (of at most four bytes).
size_t CutAtCharacter(std::string_view text, size_t limit) {
  size_t cut = limit;
  for (int i = 0; i < 3 && cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80; ++i) {
    --cut;
  }
  return cut;
}

}  // namespace

void SetLastError(std::string_view text) noexcept {
  constexpr std::string_view kEllipsis = "...";
  size_t size = text.size();
  std::string_view tail = "";  // not null, as memcpy demands even for 0 bytes
  if (size >= kLastErrorBytes) {
    size = CutAtCharacter(text, kLastErrorBytes - 1 - kEllipsis.size());
    tail = kEllipsis;
  }
  // The text may be the buffer itself: a caller hands dgrad_last_error() back as an argument.
  if (size > 0) std::memmove(last_error, text.data(), size);
  std::memcpy(last_error + size, tail.data(), tail.size());
  last_error[size + tail.size()] = '\0';
}

dgrad_status Report(const Status& status) noexcept {
  if (!status.ok()) SetLastError(status.message());
  return static_cast<dgrad_status>(status.code());
}

static_assert(static_cast<int32_t>(Code::kOk) == DGRAD_OK);
static_assert(static_cast<int32_t>(Code::kInvalidArgument) == DGRAD_INVALID_ARGUMENT);
static_assert(static_cast<int32_t>(Code::kUnimplemented) == DGRAD_UNIMPLEMENTED);
static_assert(static_cast<int32_t>(Code::kOutOfMemory) == DGRAD_OUT_OF_MEMORY);
static_assert(static_cast<int32_t>(Code::kCancelled) == DGRAD_CANCELLED);
static_assert(static_cast<int32_t>(Code::kInternal) == DGRAD_INTERNAL);

}  // namespace dgrad

const char* dgrad_last_error(void) { return dgrad::last_error; }
