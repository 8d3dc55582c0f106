#include <cstdint>
#include <memory>

#include "src/api/checks.h"
#include "src/api/error.h"
#include "src/api/handles.h"
#include "src/api/run.h"
#include "src/base/aligned_buffer.h"

namespace dgrad {
namespace {

Status Pack(const std::shared_ptr<const Plan>& plan, const void* filter, uint64_t filter_bytes,
            void* storage, uint64_t storage_bytes, dgrad_packed_filter* handle) {
  const Problem& problem = plan->problem();
  const int64_t packed_bytes = plan->packed_filter_bytes();
  DGRAD_RETURN_IF_ERROR(
      CheckTensor("filter", filter, filter_bytes, problem.filter_bytes(), problem.dtype));
  if (storage == nullptr && storage_bytes == 0) {
    DGRAD_RETURN_IF_ERROR(AlignedBuffer::Allocate(packed_bytes, &handle->owned));
    storage = handle->owned.data();
  } else {
    DGRAD_RETURN_IF_ERROR(CheckLength("storage", storage, storage_bytes, packed_bytes));
    DGRAD_RETURN_IF_ERROR(CheckDisjoint({"storage", storage, packed_bytes},
                                        {"filter", filter, problem.filter_bytes()}));
  }
  handle->plan = plan;
  handle->data = storage;
  return plan->PackFilter(OrPlaceholder(filter), OrPlaceholder(storage), OwnExecutor(*plan),
                          Control());
}

}  // namespace
}  // namespace dgrad

dgrad_status dgrad_packed_filter_create(const dgrad_plan* plan, const void* filter,
                                        uint64_t filter_bytes, void* storage,
                                        uint64_t storage_bytes,
                                        dgrad_packed_filter** packed_filter) {
  return dgrad::Guard([&]() -> dgrad::Status {
    DGRAD_RETURN_IF_ERROR(dgrad::CheckHandle("plan", plan));
    DGRAD_RETURN_IF_ERROR(dgrad::CheckOutput("packed_filter", packed_filter));
    auto handle = std::make_unique<dgrad_packed_filter>();
    DGRAD_RETURN_IF_ERROR(
        dgrad::Pack(plan->plan, filter, filter_bytes, storage, storage_bytes, handle.get()));
    *packed_filter = handle.release();
    return dgrad::Status();
  });
}

void dgrad_packed_filter_destroy(dgrad_packed_filter* packed_filter) {
  dgrad::DestroyHandle("packed_filter", packed_filter);
}
